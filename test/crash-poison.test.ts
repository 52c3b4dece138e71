import { expect, test } from "vitest";
import type { AppProcess } from "./crash/app-process.ts";
import { brokenPromises } from "./crash/promises.ts";
import { inScene } from "./crash/scene.ts";
import { until } from "./crash/sender.ts";

const long = process.env["CRASH_KILLS"] !== undefined;
const mostStarts = 5;
const limit = 300_000;

/** Has a delivery end its process until it is parked; whoever supervises the app starts it again each time. */
const poisoned = (beside: string, aheadMs: number): Promise<void> =>
  inScene(async (scene) => {
    const { sender } = scene;
    let app: AppProcess = scene.start({ aheadMs });
    const url = await app.url;
    const others = Array.from({ length: 6 }, () => sender.make(beside));
    const deadly = sender.make("deadly-100");
    await Promise.all(sender.sent.map((sent) => sender.send(url, sent)));

    let entry = null;
    while (entry?.state !== "dead") {
      const { signal } = await Promise.race([app.ended, parked(app)]);
      if (signal === "SIGKILL") app = scene.start({ aheadMs });
      for (const sent of sender.sent) {
        if (sent.ids.size === 0) await sender.send(await app.url.catch(() => ""), sent);
      }
      entry = await app.get([...deadly.ids][0] ?? "").catch(() => null);
    }
    const id = [...deadly.ids][0] ?? "";
    expect(entry.reason?.code).toBe("poison");
    const starts = scene.runs().filter((run) => run.id === id && run.at === "start");
    expect(starts).toHaveLength(mostStarts);
    expect(await scene.kills()).toBe(mostStarts);
    await until("the log tells it", () =>
      app.lines.some((line) => line["id"] === id && line["reason"] === "poison"),
    );
    await app.idle(60_000);
    const handled = (await app.list()).filter(({ state }) => state === "handled");
    expect(handled.map((one) => one.id).sort()).toEqual(
      others.flatMap(({ ids }) => [...ids]).sort(),
    );

    scene.put("mended");
    await app.release(id);
    expect(await brokenPromises(scene, app)).toEqual([]);
    expect(scene.effects()).toContain(id);
  });

/** Resolves once nothing waits, or never. */
async function parked(app: AppProcess): Promise<{ signal: null }> {
  await app.url.then(() => app.idle(200_000)).catch(() => new Promise(() => {}));
  return { signal: null };
}

// With a clock that is ahead nothing has to wait for its next start.
test("a delivery that ends the process 5 times is parked", { timeout: limit }, () =>
  poisoned("quick-5", 100_000),
);

test.runIf(long)("those that run beside it are handled", { timeout: limit }, () =>
  poisoned("quick-100", 0),
);
