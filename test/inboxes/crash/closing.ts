import { expect, test } from "vitest";
import { inPeace } from "./app-process.ts";
import { brokenPromises } from "./promises.ts";
import { inScene } from "./scene.ts";
import { until } from "./sender.ts";

const limit = 240_000;
const nothingLeased =
  "SELECT seq FROM delivery WHERE starts > 0 OR attempts > 0 OR queue IN (5, 6)";

/** The promises of an app that is told to end, as tests. */
export function closing(): void {
  test("an app that is told to end gives back unhandled deliveries", { timeout: limit }, () =>
    inScene(async (scene) => {
      const { sender } = scene;
      const app = scene.start({ closeMs: 200 });
      const url = await app.url;
      // More than run at once.
      for (let count = 0; count < 12; count++) await sender.insist(url, sender.make("gated"));
      const starts = (): number => scene.runs().filter(({ at }) => at === "start").length;
      await until("as many as can be run", () => starts() === 8);
      await until("the others are verified", async () => (await app.counts()).verified === 12);
      app.signal("SIGTERM");
      await until("the handlers' signals are aborted", () =>
        scene.runs().some(({ at }) => at === "aborted"),
      );
      scene.put("open");
      expect(await app.ended, app.output).toEqual(inPeace);
      // Nothing is left that the next one would have to wait for.
      expect(scene.read("SELECT number FROM owner")).toEqual([]);
      expect(scene.read(nothingLeased)).toEqual([]);

      const next = scene.start();
      expect(await brokenPromises(scene, next)).toEqual([]);
      const runs = scene.runs().filter(({ at, pid }) => at === "start" && pid === next.pid);
      expect(runs.map(({ attempt }) => attempt)).toEqual(Array(12).fill(1));
    }),
  );

  test("an app that is told to end lets handlers finish", { timeout: limit }, () =>
    inScene(async (scene) => {
      const { sender } = scene;
      const app = scene.start({ closeMs: 100_000 });
      const id = await sender.insist(await app.url, sender.make("gated"));
      await until("the handler runs", () => scene.runs().length > 0);
      app.signal("SIGTERM");
      scene.put("open");
      expect(await app.ended, app.output).toEqual(inPeace);
      expect(scene.runs().map(({ at }) => at)).toEqual(["start", "end"]);
      expect(scene.read("SELECT id, state FROM delivery")).toEqual([{ id, state: 2 }]);
      expect(await brokenPromises(scene, scene.start())).toEqual([]);
    }),
  );
}
