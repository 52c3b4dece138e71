import { testStages } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { reject } from "../inbox/delivery.ts";
import { answerBounds, EventCounters, samplesOf } from "./counters.ts";

const hour = 3_600_000;
const job = testStages(() => "valid").job();
const none = { deleted: {}, parked: {}, unsigned: {}, announced: {}, noticeMs: 0, madeRoom: {} };
const stored = { status: "accepted", id: "a" } as const;
const full = { refused: "inbox_unavailable" } as const;

function answering(...seconds: readonly number[]): EventCounters {
  const counters = new EventCounters();
  for (const each of seconds) counters.answered(stored, undefined, each * 1_000);
  return counters;
}

describe("counting", () => {
  it("EventCounters counts each kind of answer, verdict, result and deletion by its name", () => {
    const counters = new EventCounters();
    counters.answered(stored, undefined, 1);
    counters.answered({ ...stored, status: "duplicate" }, undefined, 1);
    counters.answered(full, undefined, 1);
    counters.judged(job, "valid");
    counters.judged(job, "valid");
    counters.settled(job, { to: "verified", verification: "valid", type: null, reportId: null });
    counters.settled(job, { to: "retry", afterMs: 1, error: "", countsAsAttempt: true });
    counters.settled(job, { to: "handled" });
    counters.settled(job, reject("invalid_signature", ""));
    counters.pruned({ ...none, parked: { expired: 3 }, unsigned: { unsigned: 1 } });
    counters.pruned({ ...none, madeRoom: { expired: 1 } });
    expect(counters.numbers.counts).toEqual({
      accepted: 1,
      duplicate: 1,
      "refused/inbox_unavailable": 1,
      "verdict/valid": 2,
      verified: 1,
      handled: 1,
      "rejected/invalid_signature": 1,
      "deleted/expired": 4,
      "deleted/unsigned": 1,
    });
  });

  it.each(answerBounds.map((bound, index) => [bound, index]))(
    "EventCounters counts an answer of %d seconds up to this bound, and a longer one up to the next",
    (bound, index) => {
      const { answers } = answering(bound, bound + 0.0005).numbers;
      const expected = new Array(answerBounds.length + 1).fill(0);
      expected[index] = 1;
      expected[index + 1] = 1;
      expect(answers.buckets).toEqual(expected);
      expect(answers.seconds).toBeCloseTo(2 * bound + 0.0005);
    },
  );

  it("EventCounters.numbers does not change when more is counted", () => {
    const counters = answering(0.001);
    const { counts, answers } = counters.numbers;
    counters.answered(stored, undefined, 1);
    expect([counts, answers.buckets[0]]).toEqual([{ accepted: 1 }, 1]);
  });

  it("samplesOf() names the metric and the labels of each number", () => {
    const names = [
      "accepted",
      "refused/closing",
      "verdict/invalid",
      "deleted/expired",
      "held/expired",
    ];
    expect(samplesOf({ counts: Object.fromEntries(names.map((name, at) => [name, at])) })).toEqual([
      { name: "deliveries", labels: { outcome: "accepted" }, value: 0 },
      { name: "deliveries", labels: { outcome: "closing" }, value: 1 },
      { name: "verdicts", labels: { verdict: "invalid" }, value: 2 },
      { name: "deliveries.deleted", labels: { reason: "expired" }, value: 3 },
      { name: "deliveries", labels: { outcome: "held", reason: "expired" }, value: 4 },
    ]);
  });
});

describe("hours", () => {
  it("EventCounters.hourNotes() has the numbers of the hour, and none while nothing was counted", () => {
    const counters = new EventCounters();
    expect(counters.hourNotes("p", 10 * hour)).toEqual({});
    counters.judged(job, "valid");
    expect(counters.hourNotes("p", 11 * hour - 1)).toEqual({ "hour/10/p": '{"verdict/valid":1}' });
  });

  it("EventCounters.hourNotes() of the first sign names the hour of that sign", () => {
    const counters = answering(1);
    expect(counters.hourNotes("p", 10.5 * hour)).toEqual({ "hour/10/p": '{"accepted":1}' });
  });

  it("EventCounters.hourNotes() counts from zero in the next hour, and what came before its first sign is of the last one", () => {
    const counters = answering(1);
    counters.kept(counters.hourNotes("p", 10 * hour));
    counters.judged(job, "valid");
    const late = { "hour/10/p": '{"accepted":1,"verdict/valid":1}' };
    expect(counters.hourNotes("p", 11 * hour)).toEqual(late);
    counters.kept(late);
    expect(counters.hourNotes("p", 11 * hour)).toEqual({});
    counters.judged(job, "invalid");
    expect(counters.hourNotes("p", 11.5 * hour)).toEqual({ "hour/11/p": '{"verdict/invalid":1}' });
    expect(counters.numbers.counts).toEqual({
      accepted: 1,
      "verdict/valid": 1,
      "verdict/invalid": 1,
    });
  });

  it("EventCounters.hourNotes() has what is not kept yet again, and kept() leaves what has changed since", () => {
    const counters = answering(1);
    const first = counters.hourNotes("p", 10 * hour);
    expect(counters.hourNotes("p", 10 * hour)).toEqual(first);
    counters.judged(job, "valid");
    const next = counters.hourNotes("p", 10 * hour);
    counters.kept(first);
    expect(counters.hourNotes("p", 10 * hour)).toEqual(next);
    counters.kept(next);
    expect(counters.hourNotes("p", 10 * hour)).toEqual({});
  });
});
