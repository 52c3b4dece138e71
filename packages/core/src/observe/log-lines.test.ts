import { testJob } from "@reporthook/test-support/jobs";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import type { ReceiveResult } from "../http/answer.ts";
import { cutOff, type Job, type Outcome, park, reject, retryIn } from "../inbox/delivery.ts";
import { PruneCount } from "../inbox/retention.ts";
import { oncePerMinute } from "../lib/log.ts";
import { messages } from "../log-messages.ts";
import { logOf } from "./log-lines.ts";

const clock = manualClock();
type LogFields = Readonly<Record<string, unknown>>;
type Line = [level: "info" | "warn" | "error", fields: LogFields, message: string];

/** A logger that keeps its lines; without `info` where that is not wanted. */
function noting(lines: Line[], info = true) {
  const level = (name: Line[0]) => (fields: LogFields, message: string) =>
    void lines.push([name, fields, message]);
  const rest = { warn: level("warn"), error: level("error") };
  return info ? { ...rest, info: level("info") } : rest;
}

const job = (part: Partial<Job> = {}): Job => testJob(0, { id: "a", attempts: 1, ...part });

describe("answers", () => {
  const answered = (decision: ReceiveResult, info = true): Line[] => {
    const lines: Line[] = [];
    const logger = noting(lines, info);
    logOf({ ack: "stored", clock, logger, oncePerMinute: oncePerMinute(clock, logger) }).answered?.(
      decision,
      true,
      12,
      "a",
    );
    return lines;
  };

  it("the log tells the delivery that was acknowledged: of a duplicate, the first delivery", () => {
    for (const decision of [
      { status: "accepted", id: "a" },
      { status: "duplicate", id: "b" },
    ] as const) {
      const fields = { ...decision, ms: 12 };
      expect(answered(decision)).toEqual([["info", fields, messages.acknowledged]]);
    }
  });

  it("the log tells why a request is refused", () => {
    const fields = { id: "a", code: "overloaded", ms: 12 };
    const line = ["info", fields, messages.refused];
    expect(answered({ refused: "overloaded" })).toEqual([line]);
    const own = { id: "b", code: "not_handled", ms: 12 };
    const answeredAs = answered({ refused: "not_handled", id: "b" });
    expect(answeredAs).toEqual([["info", own, messages.refused]]);
  });

  it("the log writes no line to a logger without info()", () => {
    expect(answered({ status: "accepted", id: "a" }, false)).toEqual([]);
    expect(answered({ refused: "overloaded" }, false)).toEqual([]);
  });
});

describe("outcomes", () => {
  const noted = (of: Job, outcome: Outcome, keeps = true, info = true): Line[] => {
    const lines: Line[] = [];
    const logger = noting(lines, info);
    const ack = keeps ? "stored" : "handled";
    logOf({ ack, clock, logger, oncePerMinute: oncePerMinute(clock, logger) }).settled?.(
      of,
      outcome,
    );
    return lines;
  };
  const handling = job({ stage: "handle", type: "report.complete" });
  const recognized = { type: "report.complete", reportId: null } as const;
  const verified = { to: "verified", verification: "valid", ...recognized } as const;
  const ids = { id: "a" };
  const rejected = reject("invalid_signature", "The service says no.");
  const dead = park("dead", "do_not_retry", "It said so.", "Error: no");
  const held = park("held", "expired", "Too late.");
  const counted = retryIn(7, "Error: no", { countsAsAttempt: true });
  const uncounted = retryIn(7, "Error: no", { countsAsAttempt: false });

  /** A line, its level and message first. */
  const line = (level: Line[0], message: string, fields: LogFields): Line[] => [
    [level, { ...ids, ...fields }, message],
  ];
  const error = "Error: no";
  const retried = { attempt: 2, error, afterMs: 7 };
  const lost = (fields: LogFields): Line[] => line("warn", messages.notHandled, fields);
  const waits = (stage: Job["stage"]) => line("info", messages.postponed, { ...retried, stage });
  const { verification, type } = verified;

  it.each<[what: string, of: Job, outcome: Outcome, lines: Line[]]>([
    [
      "is verified",
      job(),
      verified,
      line("info", messages.verified, { attempt: 2, verification, type }),
    ],
    [
      "is handled, by the name it has",
      handling,
      { to: "handled" },
      line("info", messages.handled, { attempt: 2, type }),
    ],
    [
      "is handled, by the name it was found to have",
      handling,
      { to: "handled", type: "unknown", reportId: null },
      line("info", messages.handled, { attempt: 2, type: "unknown" }),
    ],
    [
      "is rejected",
      job(),
      rejected,
      line("info", messages.rejected, { attempt: 2, reason: "invalid_signature" }),
    ],
    [
      "is dead",
      handling,
      dead,
      line("warn", messages.dead, {
        reason: "do_not_retry",
        why: "It said so.",
        attempt: 2,
        error,
      }),
    ],
    [
      "is held",
      job(),
      held,
      line("warn", messages.held, {
        reason: "expired",
        why: "Too late.",
        attempt: 2,
        error: null,
        count: 1,
      }),
    ],
    [
      "is held, although it is genuine",
      job(),
      { ...park("held", "no_token", "No token."), verification: "valid", ...recognized },
      line("warn", messages.held, {
        reason: "no_token",
        why: "No token.",
        attempt: 2,
        error: null,
      }),
    ],
    [
      "is held on arrival",
      job({ state: "held", attempts: 0 }),
      held,
      line("info", messages.heldOnArrival, { reason: "expired" }),
    ],
    ["failed in its handler", handling, counted, line("warn", messages.handlerFailed, retried)],
    ["was cut off in its handler", handling, uncounted, waits("handle")],
    ["got no verdict", job(), counted, waits("verify")],
  ])("the log tells what %s", (_, of, outcome, lines) => {
    expect(noted(of, outcome)).toEqual(lines);
  });

  it.each<[what: string, of: Job, outcome: Outcome, lines: Line[]]>([
    ["failed in its handler", handling, counted, lost({ error })],
    ["was given up by its handler", handling, dead, lost({ reason: "do_not_retry", error })],
    ["got no verdict", job(), counted, lost({ error, count: 1 })],
    ["got no verdict while the key is refused", job(), uncounted, lost({ error, count: 1 })],
    // The request tells that its time was over, its answer that it was refused.
    ["was cut off", handling, uncounted, []],
    ["was cut off before its verdict", job(), cutOff, []],
    ["is held", job(), held, []],
  ])("the log tells, where nothing is kept, what %s", (_, of, outcome, lines) => {
    expect(noted(of, outcome, false)).toEqual(lines);
  });

  it("the log hands on the error of an outcome, and one line of its text", () => {
    const err = new Error("no");
    const outcome = { ...counted, error: "Error: no\n    at handler", err };
    const [[, fields] = []] = noted(handling, outcome);
    expect(fields).toMatchObject({ error: "Error: no", err });
  });

  it("the log writes only warnings to a logger without info()", () => {
    const quiet = (of: Job, outcome: Outcome) => noted(of, outcome, true, false);
    for (const outcome of [verified, rejected, uncounted, { to: "handled" }] as const) {
      expect(quiet(job(), outcome)).toEqual([]);
    }
    expect(quiet(handling, counted)).toHaveLength(1);
  });
});

describe("retention", () => {
  it("the log dates the end of parked deliveries by the wall clock, which may have been set", () => {
    const lines: Line[] = [];
    const logger = noting(lines);
    const wall = { ...clock, wallOffset: Date.UTC(2026, 0, 1) - clock.now() };
    const pruned = new PruneCount({ handledMs: 1, parkedMs: 2_000 });
    pruned.announce({ state: "held", reason: { code: "expired" } });
    logOf({
      ack: "stored",
      clock: wall,
      logger,
      oncePerMinute: oncePerMinute(clock, logger),
    }).pruned?.(pruned);
    expect(lines).toMatchObject([
      ["warn", { deletedFrom: "2026-01-01T00:00:01.000Z" }, messages.parkedExpiring],
    ]);
  });
});
