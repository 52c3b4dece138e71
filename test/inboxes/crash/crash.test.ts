import { evidence } from "@reporthook/test-support/evidence";
import { isQuick, isRest } from "@reporthook/test-support/needs";
import { describe, expect, test } from "vitest";
import { closing } from "./closing.ts";
import { type Point, points } from "./points.ts";
import { poisoned } from "./poison.ts";
import { brokenPromises } from "./promises.ts";
import { Random } from "./random.ts";
import { round } from "./rounds.ts";
import { inScene } from "./scene.ts";
import { sharing } from "./sharing.ts";

// The long run is `pnpm test:crash`; a seed repeats the choices of a round that failed, though not its timing.
const kills = Number(process.env["CRASH_KILLS"] ?? 8);
const seed = Number(process.env["CRASH_SEED"] ?? Date.now() % 1_000_000);
const long = process.env["CRASH_KILLS"] !== undefined;
const killsOfRound = 25;
const limit = 300_000;

describe.concurrent("killed", () => {
  test.each(points.filter((point) => (isAcknowledged(point) ? !isRest : !isQuick)))(
    "an app killed at its 3rd %s breaks no promise",
    { timeout: limit },
    diesAt,
  );
  if (isQuick) return;

  const rounds = Math.ceil(kills / killsOfRound);
  test(`an app that is killed at random moments, ${kills} times, breaks no promise (CRASH_SEED=${seed})`, {
    timeout: limit * rounds,
  }, async () => {
    const chance = { random: new Random(seed), long };
    const startedAt = performance.now();
    let done = 0;
    for (let number = 1; number <= rounds; number++) {
      const { broken, ...went } = await round(Math.min(killsOfRound, kills - done), chance);
      done += went.kills;
      evidence("crash", { kills: went.kills }, { "broken promises": broken.length });
      expect(broken).toEqual([]);
      if (!long) continue;
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      console.log(`round ${number} of ${rounds}, ${seconds} s: ${JSON.stringify(went)}`);
    }
    expect(done).toBeGreaterThanOrEqual(kills);
  });

  // With a clock that is ahead nothing has to wait for its next start.
  test("a delivery that has killed the app 5 times is parked", { timeout: limit }, () =>
    inScene((scene) => poisoned(scene, "quick-5", 100_000)),
  );

  if (!long) return;
  test("a delivery that kills the app lets others beside it be handled", { timeout: limit }, () =>
    inScene((scene) => poisoned(scene, "quick-100", 0)),
  );
});

if (!isQuick) {
  describe.concurrent("two apps on one file", () => sharing());
  describe.concurrent("told to end", closing);
}

/** Whether a kill there meets what was just promised: `pnpm test` has these points, and the rest all others. */
function isAcknowledged(point: Point): boolean {
  return ["after-commit", "after-answer", "after-verdict", "during-handler"].includes(point);
}

/** Ends an app at a point, and looks at what is left after the next one has worked. */
function diesAt(point: Point): Promise<void> {
  return inScene(async (scene) => {
    const { sender } = scene;
    const app = scene.start({ kill: { point, nth: 3 } });
    const url = await app.url;
    const forged = sender.make("quick-0", true);
    const genuine = Array.from({ length: 5 }, () => sender.make("quick-5"));
    for (const sent of [forged, ...genuine]) await sender.send(url, sent);
    expect(await app.ended, app.output).toEqual({ code: null, signal: "SIGKILL" });

    const next = scene.start();
    // The sender repeats all, also the notifications that were answered.
    for (const sent of genuine) await sender.send(await next.url, sent);
    const broken = await brokenPromises(scene, next);
    evidence("crash", { kills: 1 }, { "broken promises": broken.length });
    expect(broken).toEqual([]);
    const starts = scene.runs().filter(({ at }) => at === "start");
    const again = starts.length > genuine.length;
    if (point === "during-handler" || point === "after-handler") expect(again).toBe(true);
  });
}
