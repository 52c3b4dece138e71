import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import type { Inbox, InboxHealth } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { type ReceiverView, toolView } from "../inbox/receiver-inbox.ts";
import type { Phase } from "../inbox/receivers.ts";
import { Timekeeper } from "../inbox/timekeeper.ts";
import type { Clock } from "../lib/time/clock.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { Lookout } from "./health.ts";
import { noteOf, type ProcessReport } from "./process-report.ts";
import { ProcessState } from "./process-state.ts";

const second = 1_000;
const minute = 60 * second;
const start = 1_000_000 * second;

const viewOf = (inbox: Inbox, given: Clock, name = "reports"): ReceiverView => {
  const clock = new LivedClock(given);
  return { ...toolView(inbox, name), clock, time: new Timekeeper(inbox, clock) };
};

/** A tool that looks at an inbox on which these processes have left their reports, as many milliseconds ago as `at` says. */
async function watched(name: string, ...given: readonly Partial<ProcessReport>[]) {
  const clock = manualClock(start);
  const inbox = memoryInbox();
  const own = new ProcessState(new LivedClock(clock), false).report();
  for (const [index, { at = 0, ...rest }] of given.entries()) {
    const made = { ...own, id: String(index), ...rest };
    await inbox.keepNotes(name, noteOf({ ...made, at: clock.now() - at }));
  }
  return { clock, inbox, lookout: new Lookout(viewOf(inbox, clock, name)) };
}

/** The view of an inbox of which these methods are others, with a phase that may change. */
function over(parts: Partial<Inbox>, phase: Phase = "working") {
  return { ...viewOf(Object.assign(memoryInbox(), parts), manualClock()), phase };
}

describe("tools", () => {
  it("Lookout.processes has those that run first, then silent ones, then those that have ended", async () => {
    const { lookout, clock } = await watched(
      "reports",
      { host: "a", hasEnded: true },
      { host: "b", at: 10 * second },
      { host: "c", at: 10 * second - 1 },
    );
    expect(lookout.processes).toEqual([]);
    await lookout.health();
    const told = lookout.processes.map(({ host, state, seenAt }) => [host, state, seenAt]);
    const ago = (ms: number): Date => new Date(clock.now() - ms);
    expect(told).toEqual([
      ["c", "running", ago(10 * second - 1)],
      ["b", "silent", ago(10 * second)],
      ["a", "ended", ago(0)],
    ]);
  });

  it.each<[string, readonly Partial<ProcessReport>[], string]>([
    ["unknown without a process", [], "unknown"],
    ["that of the only one that knows", [{ service: "ok" }, {}], "ok"],
    [
      "that of the one that spoke last",
      [
        { at: 2 * second, service: "ok" },
        { at: second, service: "unreachable" },
        { at: 3 * second, service: "ok" },
      ],
      "unreachable",
    ],
  ])("health() of a tool tells the service, and is ready: %s", async (_, given, service) => {
    const { lookout } = await watched("reports", ...given);
    expect(await lookout.health()).toMatchObject({ ready: true, service });
  });

  it.each([
    ["reports", ""],
    ["mine", " --receiver mine"],
  ])(
    "health() of the receiver %s has commands with its name, unless it is the default: '%s'",
    async (name, of) => {
      const refusedSince = start - second;
      const { lookout } = await watched(name, { refusedSince, service: "refused" });
      const [problem] = (await lookout.health()).problems;
      expect(problem).toMatchObject({ code: "key_refused", since: new Date(refusedSince) });
      expect(problem?.command).toBe(`npx reporthook inbox list --state received${of}`);
    },
  );

  it("health() of a process that begins believes one that was killed no longer than a tool does, and calls it silent after 10 seconds", async () => {
    const killed = { host: "b", at: 11 * second, refusedSince: start - minute };
    const judged = { host: "c", at: second, judgedAt: start - 2 * second };
    const { lookout, clock, inbox } = await watched("reports", killed, judged);
    const view = viewOf(inbox, clock);
    const beginning = new Lookout(view, new ProcessState(view.clock, false));
    const codes = async (one: Lookout) => (await one.health()).problems.map(({ code }) => code);
    expect(await codes(lookout)).toEqual(["process_stalled"]);
    expect(await codes(beginning)).toEqual([]);
    clock.advance(10 * second);
    expect(await codes(beginning)).toContain("process_stalled");
  });

  it("Lookout.reports has none of an own process, nor one that it can't read", async () => {
    const { lookout, inbox } = await watched("reports", { host: "a" });
    await inbox.keepNotes("reports", {
      "now/process/x": "{",
      "now/process/y": "null",
      "now/process/z": '{"at":1}',
      "now/process/w": '{"since":1}',
      "now/other": '{"since":1,"at":1}',
    });
    await lookout.health();
    expect(lookout.reports.map(({ host }) => host)).toEqual(["a"]);
  });
});

describe("failures", () => {
  const lost = (): never => {
    throw new Error("lost");
  };
  const says = { ok: false, error: "lost" };

  it.each<[string, Partial<Inbox>, string]>([
    ["whose health() throws", { health: lost }, "Error: lost"],
    ["whose health() rejects", { health: async () => lost() }, "Error: lost"],
    ["that says it", { health: async () => says }, "lost"],
    ["whose facts() rejects", { facts: async () => lost() }, "Error: lost"],
    ["whose notes() rejects", { notes: async () => lost() }, "Error: lost"],
  ])("health() tells an inbox %s as one that fails", async (_, parts, error) => {
    const health = await new Lookout(over(parts)).health();
    expect(health).toMatchObject({ ready: false, inbox: { ok: false, error } });
    expect(health.problems).toMatchObject([{ code: "inbox_fails", severity: "critical" }]);
    expect(health.problems[0]?.text).toContain(error);
  });

  it("health() tells since when the inbox fails, from the first time to the last, with its last words", async () => {
    const clock = manualClock(start);
    let says: InboxHealth = { ok: false, error: "away" };
    const inbox = Object.assign(memoryInbox(), { health: async () => says });
    const lookout = new Lookout(viewOf(inbox, clock));
    const since = async () => (await lookout.health()).problems[0]?.since;
    const first = await since();
    clock.advance(second);
    says = { ok: false, error: "still away" };
    const [problem] = (await lookout.health()).problems;
    expect(problem).toMatchObject({ since: first, text: expect.stringContaining("still away") });
    says = { ok: true };
    expect(await since()).toBeUndefined();
    says = { ok: false };
    expect(await since()).toEqual(new Date(clock.now()));
  });

  it("health() of a tool still counts in an inbox that takes nothing more", async () => {
    const lookout = new Lookout(over({ health: async () => says }));
    expect((await lookout.health()).countedAt).toEqual(expect.any(Date));
  });

  it.each<[Phase, boolean]>([
    ["new", true],
    ["working", true],
    ["closing", false],
    ["closed", false],
  ])("health() of a receiver that is %s is ready: %s", async (phase, ready) => {
    const health = await new Lookout(over({}, phase)).health();
    expect(health).toMatchObject({ ready, inbox: { ok: true } });
  });
});
