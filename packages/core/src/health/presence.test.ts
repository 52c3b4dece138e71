import { setImmediate } from "node:timers/promises";
import { testStages } from "@reporthook/test-support/jobs";
import { hasSettled, never } from "@reporthook/test-support/receiver-setup";
import { manualClock } from "@reporthook/testing/internals";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { toolView } from "../inbox/receiver-inbox.ts";
import { Timekeeper } from "../inbox/timekeeper.ts";
import { systemClock } from "../lib/time/clock.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { Lookout } from "./health.ts";
import { Presence } from "./presence.ts";
import { noteOf, outdatedIn, type ProcessReport } from "./process-report.ts";
import { ProcessState } from "./process-state.ts";

const second = 1_000;
const hour = 3_600_000;
const day = 24 * hour;
const { job } = testStages(() => "valid");

/** A process on a memory inbox that does what `before` does before it keeps notes; `kept` has all that it was given to keep. */
function processWith({
  before = async () => {},
  given = manualClock(1_000 * day),
}: {
  readonly before?: () => Promise<unknown>;
  readonly given?: ReturnType<typeof manualClock>;
} = {}) {
  const kept: Parameters<Inbox["keepNotes"]>[1][] = [];
  const store = memoryInbox();
  const inbox: Inbox = Object.assign(memoryInbox(), {
    notes: store.notes.bind(store),
    keepNotes: async (...given: Parameters<Inbox["keepNotes"]>) => {
      kept.push(given[1]);
      await before();
      await store.keepNotes(...given);
    },
  });
  const clock = new LivedClock(given);
  const time = new Timekeeper(store, clock);
  const of = { ...toolView(inbox, "reports"), clock, time };
  const own = new ProcessState(clock, false);
  const { counters } = own;
  const lookout = new Lookout(of, own);
  const presence = new Presence(of, own, lookout);
  const reports = (): ProcessReport[] =>
    kept.flatMap((notes) =>
      Object.entries(notes).flatMap(([key, text]) =>
        key.startsWith("now/process/") && text !== null ? JSON.parse(text) : [],
      ),
    );
  const pass = async (ms: number): Promise<void> => {
    given.advance(ms);
    await setImmediate();
  };
  return { presence, lookout, of, own, counters, kept, store, reports, given, pass };
}

async function begun(...given: Parameters<typeof processWith>) {
  const one = processWith(...given);
  const errors: unknown[] = [];
  one.presence.begin((error) => errors.push(error));
  await setImmediate();
  return { ...one, errors };
}

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe("signs of life", () => {
  it("a process gives a sign at once, and each 5 seconds, with the moment of each", async () => {
    const { reports, pass, given } = await begun();
    const start = given.now();
    expect(reports()).toMatchObject([{ since: start, at: start, hasEnded: false }]);
    await pass(5 * second - 1);
    expect(reports()).toHaveLength(1);
    await pass(1);
    await pass(5 * second);
    expect(reports().map(({ at }) => at - start)).toEqual([0, 5 * second, 10 * second]);
    expect(new Set(reports().map(({ id }) => id)).size).toBe(1);
  });

  it("a process gives the next sign 5 seconds after the last began, at once if keeping it took longer", async () => {
    const given = manualClock(1_000 * day);
    let keepMs = 2 * second;
    const { reports, pass } = await begun({ given, before: async () => given.advance(keepMs) });
    expect(reports()).toHaveLength(1);
    await pass(3 * second - 1);
    expect(reports()).toHaveLength(1);
    keepMs = 6 * second;
    await pass(1);
    expect(reports()).toHaveLength(2);
    keepMs = 0;
    await pass(0);
    expect(reports()).toHaveLength(3);
  });

  it("a process tells what failed, and gives the next sign with what was not kept", async () => {
    const full = new Error("the disk is full");
    let failing = true;
    const before = async (): Promise<void> => {
      if (failing) throw full;
    };
    const { counters, own, errors, pass, store, given } = await begun({ before });
    counters.judged(job(), "valid");
    own.judged(job(), "valid");
    await pass(5 * second);
    expect(errors).toEqual([full, full]);
    failing = false;
    await pass(5 * second);
    expect(errors).toHaveLength(2);
    const notes = await store.notes("reports", "");
    const number = Math.floor(given.now() / hour);
    expect(Object.keys(notes)).toContainEqual(expect.stringMatching(`^hour/${number}/`));
  });

  it("a process keeps with each sign its report, and numbers of an hour that have changed", async () => {
    const { counters, kept, pass } = await begun();
    counters.judged(job(), "valid");
    await pass(5 * second);
    expect(Object.keys(kept[1] ?? {})).toHaveLength(2);
    await pass(5 * second);
    expect(Object.keys(kept[2] ?? {})).toEqual([expect.stringMatching("^now/process/")]);
  });

  it("a process gives no sign after the event loop stood still, until it was told that it did", async () => {
    const { reports, pass } = await begun();
    const now = vi.spyOn(realClock, "now");
    now.mockReturnValue(performance.now() + 9.9 * second);
    await pass(5 * second);
    expect(reports()).toHaveLength(2);
    now.mockReturnValue(performance.now() + 20 * second);
    await pass(5 * second);
    expect(reports()).toHaveLength(2);
    await pass(5 * second - 1);
    expect(reports()).toHaveLength(2);
    await pass(1);
    expect(reports()).toHaveLength(3);
  });

  it("a process gives no sign while a test runner has replaced the timers, and the last one all the same", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const given = { ...manualClock(), ...systemClock };
    const clock = new LivedClock(systemClock);
    expect(clock.isReplaced).toBe(true);
    const { of, own, lookout, reports } = processWith({ given });
    const presence = new Presence({ ...of, clock }, own, lookout);
    presence.begin(() => {});
    await setImmediate();
    expect(reports()).toEqual([]);
    await presence.end();
    expect(reports()).toMatchObject([{ hasEnded: true }]);
  });
});

describe("the end", () => {
  it("Presence.end() tells that the process has ended, and plans no further sign", async () => {
    const { presence, reports, pass } = await begun();
    await presence.end();
    expect(reports().map(({ hasEnded }) => hasEnded)).toEqual([false, true]);
    await pass(60 * second);
    await presence.end();
    expect(reports()).toHaveLength(2);
  });

  it("Presence.end() tells nothing of a process that has not begun", async () => {
    const { presence, kept } = processWith();
    await presence.end();
    expect(kept).toEqual([]);
  });

  it("Presence.end() comes after a sign that is being kept, which is then not followed by another", async () => {
    let keep = (): void => {};
    const before = (): Promise<void> => new Promise((resolve) => (keep = resolve));
    const { presence, reports, pass } = await begun({ before });
    const ended = presence.end();
    await setImmediate();
    expect(reports().map(({ hasEnded }) => hasEnded)).toEqual([false]);
    keep();
    await setImmediate();
    expect(reports().map(({ hasEnded }) => hasEnded)).toEqual([false, true]);
    keep();
    await ended;
    await pass(60 * second);
    expect(reports()).toHaveLength(2);
  });

  it("Presence.end() resolves after a second if the inbox does not answer, and at once if it fails", async () => {
    const hanging = await begun({ before: never });
    const ended = hanging.presence.end();
    await hanging.pass(second - 1);
    expect(await hasSettled(ended)).toBe(false);
    await hanging.pass(1);
    await ended;
    const failing = await begun({ before: () => Promise.reject(new Error("full")) });
    await failing.presence.end();
    expect(failing.kept).toHaveLength(2);
  });
});

describe("looks at the inbox", () => {
  it("a process looks at each sixth sign, not at the last one, and forgets processes that were silent for over an hour", async () => {
    const { presence, lookout, of, own, kept, pass, given } = processWith();
    const other = { ...own.report(false), since: 0 };
    await of.inbox.keepNotes("reports", {
      ...noteOf({ ...other, id: "old", at: given.now() - hour - 1 }),
      ...noteOf({ ...other, id: "silent", at: given.now() - hour }),
    });
    kept.length = 0;
    const looks = vi.spyOn(lookout, "health");
    presence.begin(() => {});
    for (let sign = 1; sign <= 7; sign++) {
      await setImmediate();
      await pass(5 * second);
    }
    expect(looks).toHaveBeenCalledTimes(2);
    expect(kept[0]).toHaveProperty("now/process/old", null);
    expect(kept[0]).not.toHaveProperty("now/process/silent");
    await presence.end();
    expect(looks).toHaveBeenCalledTimes(2);
  });

  it("a process forgets hours of over 30 days ago once it has run for an hour, and then each day", async () => {
    const { pass, store, given } = await begun();
    const number = Math.floor(given.now() / hour);
    const [old, kept] = [`hour/${number - 30 * 24}/x`, `hour/${number - 30 * 24 + 2}/x`];
    await store.keepNotes("reports", { [old]: "{}", [kept]: "{}" });
    for (let sign = 0; sign < 719; sign++) await pass(5 * second);
    expect(await store.notes("reports", "hour/")).toHaveProperty([old]);
    await pass(5 * second);
    expect(await store.notes("reports", "hour/")).toEqual({ [kept]: "{}" });
    await store.keepNotes("reports", { [old]: "{}" });
    for (let sign = 0; sign < 17_279; sign++) await pass(5 * second);
    expect(await store.notes("reports", "hour/")).toHaveProperty([old]);
    await pass(5 * second);
    expect(await store.notes("reports", "hour/")).toEqual({});
  });
});

describe("outdatedIn()", () => {
  const now = 1_000 * hour;
  const empty = new ProcessState(new LivedClock(manualClock(now)), false).report();
  const report = (id: string, hoursAgo: number, parts: Partial<ProcessReport> = {}) => ({
    ...empty,
    id,
    at: now - hoursAgo * hour,
    ...parts,
  });
  const run = (hoursAgo: number) => {
    const since = now - hoursAgo * hour;
    return { since, count: 3, latest: [since], hasToken: true };
  };
  const ago = (hours: number) => now - hours * hour;

  it.each<[string, ProcessReport[], string[]]>([
    ["a process silent for over an hour", [report("a", 2), report("b", 1)], ["a"]],
    [
      "all but the one that judged last",
      [2, 3].map((at) => report(`${at}`, at, { judgedAt: ago(at) })),
      ["3"],
    ],
    [
      "all but the one that was valid last",
      [2, 3].map((at) => report(`${at}`, at, { validAt: ago(at) })),
      ["3"],
    ],
    ["no refused key", [report("a", 2, { refusedSince: ago(3) })], []],
    [
      "a refused key, if another process had a verdict since",
      [report("b", 0, { judgedAt: ago(1) }), report("a", 2, { refusedSince: ago(3) })],
      ["a"],
    ],
    ["no run of invalid ones", [report("a", 2, { invalid: run(2) })], []],
    [
      "a run of invalid ones, if one was valid since",
      [report("b", 0, { validAt: ago(1) }), report("a", 2, { invalid: run(2) })],
      ["a"],
    ],
    [
      "all but the latest 20 that tell something",
      Array.from({ length: 22 }, (_, one) => report(`${one}`, 2, { invalid: run(2) })),
      ["20", "21"],
    ],
    [
      "nothing of the one that was valid last, however many tell something since",
      [
        ...Array.from({ length: 20 }, (_, one) => report(`${one}`, 2, { invalid: run(2) })),
        report("valid", 9, { validAt: ago(9) }),
      ],
      [],
    ],
  ])("outdatedIn() has %s", (_, reports, forgotten) => {
    expect(outdatedIn(reports, now).map(({ id }) => id)).toEqual(forgotten);
  });
});
