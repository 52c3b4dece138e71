import { readdirSync, readFileSync } from "node:fs";
import { isAttempt } from "@reporthook/core/store";
import { expect, test } from "vitest";
import { inPeace } from "./app-process.ts";
import { brokenPromises } from "./promises.ts";
import { inScene, type Scene } from "./scene.ts";
import { until } from "./sender.ts";

type App = ReturnType<Scene["start"]>;

const limit = 240_000;

const ran = (scene: Scene, at: string, pid?: number): string[] =>
  scene.runs().flatMap((run) => (run.at === at && run.pid === (pid ?? run.pid) ? [run.id] : []));

/** Has an app stand still, but not within a commit: everybody on the file would wait for it to go on. */
async function standStill(scene: Scene, app: App): Promise<void> {
  for (;;) {
    app.signal("SIGSTOP");
    await until("all its threads are stopped", () => threadsOf(app.pid).every(isStopped));
    if (!scene.isHeld()) return;
    app.signal("SIGCONT");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function threadsOf(pid: number): string[] {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/stat`, "utf8"));
}

/** The state stands behind the name, which is in brackets. */
function isStopped(stat: string): boolean {
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
}

interface Handling {
  readonly scene: Scene;
  /** The delivery that `first` handles. */
  readonly id: string;
  readonly first: App;
  readonly other: App;
}

/** Has one app handle a report while another one waits on the same file. */
function whileHandling(report: string, run: (handling: Handling) => Promise<void>): Promise<void> {
  return inScene(async (scene) => {
    const { sender } = scene;
    const first = scene.start();
    const id = await sender.insist(await first.url, sender.make(report));
    await until("the handler runs", () => ran(scene, "start", first.pid).includes(id));
    const other = scene.start();
    await other.url;
    await run({ scene, id, first, other });
  });
}

/** The promises of two apps on one file, as tests. */
export function sharing(): void {
  test("two apps on one file handle each delivery once", { timeout: limit }, () =>
    inScene(async (scene) => {
      const { sender } = scene;
      const apps = [scene.start(), scene.start()] as const;
      const urls = await Promise.all(apps.map(({ url }) => url));
      const sent = Array.from({ length: 400 }, (_, number) => sender.make(`quick-${number % 9}`));
      const lane = async (from: number): Promise<void> => {
        for (let at = from; at < sent.length; at += 8) {
          const one = sent[at];
          if (one === undefined) continue;
          await sender.insist(urls[at % 2] ?? "", one);
          // Its copy goes to the other app.
          if (at % 5 === 0) await sender.send(urls[(at + 1) % 2] ?? "", one);
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, from) => lane(from)));
      await until("both are idle", async () => (await apps[0].counts()).handled === sent.length);
      const starts = ran(scene, "start");
      expect(new Set(starts).size).toBe(sent.length);
      expect(starts).toHaveLength(sent.length);
      for (const { pid } of apps) expect(ran(scene, "start", pid)).not.toEqual([]);
      expect(await apps[1].end(), apps[1].output).toEqual(inPeace);
      expect(await brokenPromises(scene, apps[0])).toEqual([]);
    }),
  );

  test("the other app takes over the work of a killed app", { timeout: limit }, () =>
    whileHandling("gated", async ({ scene, id, first, other }) => {
      await first.kill();
      await until("the other one begins", () => ran(scene, "start", other.pid).includes(id));
      scene.put("open");
      expect(await brokenPromises(scene, other)).toEqual([]);
      expect(ran(scene, "end")).toEqual([id]);
    }),
  );

  test("an app that was stopped for too long has lost its leases", { timeout: limit }, () =>
    whileHandling("gated", async ({ scene, id, first, other }) => {
      await standStill(scene, first);
      await until("the other one begins", () => ran(scene, "start", other.pid).includes(id));

      first.signal("SIGCONT");
      await until("its signal is aborted", () => ran(scene, "aborted", first.pid).includes(id));
      expect(ran(scene, "aborted", other.pid)).toEqual([]);
      scene.put("open");
      await until("both have ended", () => ran(scene, "end").length === 2);
      await other.idle(60_000);
      const entry = await other.get(id);
      const attempts = entry?.history.filter(isAttempt);
      expect(attempts?.filter(({ stage }) => stage === "handle")).toHaveLength(1);
      expect(entry).toMatchObject({ state: "handled", attempts: 1 });
      // It goes on to work, with new leases.
      await scene.sender.insist(await first.url, scene.sender.make("quick-1"));
      expect(await first.end(), first.output).toEqual(inPeace);
      expect(await brokenPromises(scene, other)).toEqual([]);
    }),
  );

  test("a result that comes after another app's is dropped", { timeout: limit }, () =>
    whileHandling("gated", async ({ scene, id, first, other }) => {
      await standStill(scene, first);
      await until("the other one begins", () => ran(scene, "start", other.pid).includes(id));
      scene.put("open");
      await until("it is handled", async () => (await other.get(id))?.state === "handled");
      const entry = await other.get(id);
      first.signal("SIGCONT");
      await until("the first one has ended, too", () => ran(scene, "end", first.pid).includes(id));
      expect(await first.end(), first.output).toEqual(inPeace);
      expect(await other.get(id)).toEqual(entry);
      expect(await brokenPromises(scene, other)).toEqual([]);
    }),
  );

  test(
    "the delivery of a handler that blocks the event loop goes to the other app",
    {
      timeout: limit,
    },
    () =>
      whileHandling("blocking", async ({ scene, id, first, other }) => {
        await until("both have ended", () => ran(scene, "end").length === 2);
        await other.idle(60_000);
        expect(ran(scene, "start")).toEqual([id, id]);
        expect(ran(scene, "start", other.pid)).toEqual([id]);
        expect(await other.get(id)).toMatchObject({ state: "handled", attempts: 1 });
        expect(await first.end(), first.output).toEqual(inPeace);
        expect(await brokenPromises(scene, other)).toEqual([]);
      }),
  );
}
