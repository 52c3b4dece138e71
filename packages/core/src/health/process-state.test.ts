import { testStages } from "@reporthook/test-support/jobs";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { withoutToken } from "../callback-urls/callback-url.ts";
import type { ReceiveResult } from "../http/answer.ts";
import type { Job } from "../inbox/delivery.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { ProcessState } from "./process-state.ts";

const second = 1_000;
const minute = 60_000;
const hour = 60 * minute;
const { job } = testStages(() => "valid");

function newState(alerts = false) {
  const given = manualClock(1_000 * hour);
  const own = new ProcessState(new LivedClock(given), alerts);
  const refuse = (refused: string, more: object = {}, isSigned = true): void =>
    own.answered({ refused, ...more } as ReceiveResult, isSigned, 1, "a");
  return { own, refuse, now: () => given.now(), pass: (ms: number) => given.advance(ms) };
}

describe("verdicts", () => {
  it("ProcessState knows nothing of the service before an answer", () => {
    const report = newState().own.report();
    expect(report).toMatchObject({ service: "unknown", judged: 0 });
    const { judgedAt, validAt, vain, invalid, lost, unsigned } = report;
    for (const one of [judgedAt, validAt, vain, invalid, lost, unsigned])
      expect(one).toBe(undefined);
  });

  it("ProcessState counts the verdicts of the last minute", () => {
    const { own, pass } = newState();
    for (let count = 0; count < 30; count++) {
      own.judged(job(), "valid");
      pass(10 * second);
    }
    expect(own.report().judged).toBe(6);
    pass(30 * second);
    expect(own.report().judged).toBe(3);
    pass(minute);
    expect(own.report().judged).toBe(0);
  });

  it.each([
    ["valid", true],
    ["expired", false],
    ["invalid", false],
  ] as const)(
    "ProcessState says after the verdict %s that the service is ok",
    (verdict, isValid) => {
      const { own, now, pass } = newState();
      pass(second);
      own.judged(job(), verdict);
      expect(own.report()).toMatchObject({ service: "ok", judgedAt: now() });
      expect(own.report().validAt).toBe(isValid ? now() : undefined);
    },
  );

  it("ProcessState counts invalid ones until another verdict, and knows when the last five came", () => {
    const { own, now, pass } = newState();
    const since = now();
    for (let count = 0; count < 7; count++) {
      own.judged(job(), "invalid");
      pass(second);
    }
    const latest = [2, 3, 4, 5, 6].map((at) => since + at * second);
    expect(own.report().invalid).toEqual({ since, count: 7, latest, hasToken: false });
    own.judged(job(), "expired");
    expect(own.report().invalid).toBe(undefined);
  });

  it("ProcessState does not count an invalid one that a person had asked about again", () => {
    const { own, now } = newState();
    own.judged(job({ retryState: '{"askedAgain":true}' }), "invalid");
    const { judgedAt, invalid } = own.report();
    expect([judgedAt, invalid]).toEqual([now(), undefined]);
  });

  it.each<[string, Partial<Job>, boolean]>([
    ["without a token", {}, false],
    ["with a token that carries no context", { context: " " }, true],
    ["with a context", { context: "{}" }, true],
    ["without the token that is needed", { context: withoutToken }, false],
    ["of a request", { requestId: "r" }, true],
  ])("ProcessState knows of an invalid one %s whether it had a token", (_, given, hasToken) => {
    const { own } = newState();
    own.judged(job(given), "invalid");
    expect(own.report().invalid?.hasToken).toBe(hasToken);
    own.judged(job({ context: withoutToken }), "invalid");
    expect(own.report().invalid?.hasToken).toBe(hasToken);
  });
});

describe("no verdicts", () => {
  const signed = (signature: string) => job({ id: `of ${signature}`, signature });

  it("ProcessState has since when calls are in vain, and five deliveries of different signatures", () => {
    const { own, now, pass } = newState();
    const since = now();
    for (const signature of ["a", "a", "b", "c", "d", "e", "f"]) {
      own.noVerdict(signed(signature), null, true, signature);
      pass(second);
    }
    const ids = ["a", "b", "c", "d", "e"].map((one) => `of ${one}`);
    const at = now() - second;
    expect(own.report().vain).toEqual({ since, at, isSingle: true, ids, error: "f" });
    own.judged(job(), "valid");
    expect(own.report().vain).toBe(undefined);
  });

  it("ProcessState leaves out deliveries without a signature", () => {
    const { own } = newState();
    own.noVerdict(job({ signature: null }), null, true, "error");
    expect(own.report().vain?.ids).toEqual([]);
  });

  it.each([
    ["unauthorized", true, "refused"],
    ["unavailable", true, "failing"],
    ["unavailable", false, "unreachable"],
  ] as const)(
    "ProcessState says after %s (answered: %s) that the service is %s",
    (outage, hasAnswered, service) => {
      const { own } = newState();
      own.noVerdict(job(), outage, hasAnswered, "error");
      expect(own.report()).toMatchObject({ service, vain: { isSingle: false } });
    },
  );

  it("ProcessState has since when the key is refused, until a verdict", () => {
    const { own, now, pass } = newState();
    const refusedSince = now();
    own.noVerdict(job(), "unauthorized", true, "error");
    pass(second);
    own.noVerdict(job(), "unauthorized", true, "error");
    expect(own.report().refusedSince).toBe(refusedSince);
    own.judged(job(), "expired");
    expect(own.report().refusedSince).toBe(undefined);
  });

  it("ProcessState believes an answer that may concern one signature only after a minute without verdicts", () => {
    const { own, pass } = newState();
    own.judged(job(), "valid");
    pass(minute - 1);
    own.noVerdict(job(), null, true, "error");
    expect(own.report().service).toBe("ok");
    pass(1);
    own.noVerdict(job(), null, true, "error");
    expect(own.report().service).toBe("failing");
  });
});

describe("losses", () => {
  it.each([
    ["inbox_unavailable", {}, 1, 0],
    ["overloaded", {}, 1, 0],
    ["closing", {}, 1, 0],
    ["not_handled", {}, 0, 1],
    ["body_timeout", {}, 0, 1],
    ["body_too_large", {}, 0, 1],
    ["not_handled", { isOurs: true }, 1, 0],
    ["overloaded", { isOurs: false }, 0, 1],
  ])(
    "ProcessState counts a signed one that was refused as %s %o: certain %d, doubtful %d",
    (code, more, certain, doubtful) => {
      const { own, refuse, now } = newState();
      refuse(code, more);
      expect(own.report().lost).toEqual({
        since: now(),
        certainAt: certain > 0 ? now() : Number.NEGATIVE_INFINITY,
        minutes: [[Math.floor(now() / minute), certain, doubtful]],
      });
    },
  );

  it.each([
    ["unavailable", true],
    ["unauthorized", true],
    [null, false],
  ] as const)(
    "ProcessState is certain after the outage %s that one that was not handled is lost: %s",
    (outage, isCertain) => {
      const { own, refuse } = newState();
      own.noVerdict(job(), outage, true, "error");
      refuse("not_handled");
      expect(own.report().lost?.minutes).toEqual([
        [expect.any(Number), isCertain ? 1 : 0, isCertain ? 0 : 1],
      ]);
      own.judged(job(), "valid");
      refuse("not_handled");
      expect(own.report().lost?.minutes[0]?.[2]).toBe(isCertain ? 1 : 2);
    },
  );

  it.each(["not_found", "unsupported_media_type", "invalid_signature"])(
    "ProcessState counts none that was refused as %s",
    (code) => {
      const { own, refuse } = newState();
      refuse(code, { isOurs: true });
      expect(own.report().lost).toBe(undefined);
    },
  );

  it("ProcessState counts none that is not signed, unless it is ours", () => {
    const { own, refuse } = newState();
    refuse("overloaded", {}, false);
    refuse("overloaded", { isOurs: false }, false);
    expect(own.report().lost).toBe(undefined);
    refuse("overloaded", { isOurs: true }, false);
    expect(own.report().lost?.minutes).toHaveLength(1);
    own.answered({ status: "accepted", id: "a" }, true, 1, "a");
    expect(own.report().lost?.minutes).toHaveLength(1);
  });

  it.each([3 * hour, -3 * hour])(
    "ProcessState has the losses of a start when lived time leaps by %d ms, as when the inbox is opened at last",
    (ms) => {
      const clock = new LivedClock(manualClock(1_000 * hour));
      const own = new ProcessState(clock, false);
      own.answered({ refused: "inbox_unavailable" } as ReceiveResult, true, 1, "a");
      const { lost } = own.report();
      clock.goOnFrom(clock.now() + ms, 0);
      const [at, minutes] = [clock.now(), [[clock.now() / minute, 1, 0]]];
      expect(lost).toMatchObject({ certainAt: at - ms });
      expect(own.report().lost).toEqual({ since: at, certainAt: at, minutes });
    },
  );

  it("ProcessState is over a failure to store 30 seconds after it, though lived time leaps back meanwhile", () => {
    const given = manualClock(1_000 * hour);
    const clock = new LivedClock(given);
    const own = new ProcessState(clock, false);
    own.notStored(new Error("locked"));
    clock.goOnFrom(clock.now() - 3 * hour, 0);
    given.advance(30 * second - 1);
    expect(own.report().fails?.error).toContain("locked");
    given.advance(1);
    expect(own.report().fails).toBe(undefined);
  });

  it("ProcessState has the losses by minute, for an hour", () => {
    const { own, refuse, now, pass } = newState();
    const since = now();
    refuse("overloaded");
    refuse("overloaded");
    pass(minute);
    refuse("not_handled");
    const first = since / minute;
    const minutes = [
      [first, 2, 0],
      [first + 1, 0, 1],
    ];
    expect(own.report().lost).toEqual({ since, certainAt: since, minutes });
    pass(hour - minute - 1);
    expect(own.report().lost?.minutes).toEqual(minutes);
    pass(1);
    expect(own.report().lost?.minutes).toEqual(minutes.slice(1));
    pass(minute);
    expect(own.report().lost).toBe(undefined);
    refuse("overloaded");
    expect(own.report().lost?.since).toBe(now());
  });
});

describe("the rest", () => {
  const retry = { to: "retry", afterMs: 1, error: "", countsAsAttempt: true } as const;

  it("ProcessState has since when unsigned ones come, with less than an hour between two, and their headers", () => {
    const { own, now, pass } = newState();
    const since = now();
    own.unsigned(["a", "b"]);
    pass(hour);
    own.unsigned(["c", "x".repeat(300)]);
    expect(own.report().unsigned).toEqual({ since, at: now(), headers: ["c", "x".repeat(198)] });
    pass(hour + 1);
    own.unsigned(["d"]);
    expect(own.report().unsigned).toEqual({ since: now(), at: now(), headers: ["d"] });
  });

  it("ProcessState has since when handlers fail", () => {
    const { own, now, pass } = newState();
    own.settled(job(), retry);
    own.settled(job({ stage: "handle" }), { to: "handled" });
    expect(own.report().failingSince).toBe(undefined);
    const failingSince = now();
    own.settled(job({ stage: "handle" }), retry);
    pass(second);
    own.settled(job({ stage: "handle" }), retry);
    expect(own.report().failingSince).toBe(failingSince);
  });

  it("ProcessState says for 30 seconds that one could not be stored, since the first, unless one was", () => {
    const { own, now, pass } = newState();
    const since = now();
    own.notStored(new Error("full"));
    pass(20 * second);
    own.notStored(new Error("x".repeat(600)));
    pass(30 * second - 1);
    expect(own.report().fails).toMatchObject({ since, error: `Error: ${"x".repeat(492)}…` });
    pass(1);
    expect(own.report().fails).toBe(undefined);
    own.notStored(new Error("full"));
    expect(own.report().fails).toMatchObject({ since: now() });
    own.stored();
    expect(own.report().fails).toBe(undefined);
  });

  it("ProcessState forgets since when handlers fail once a later look has seen none that waits", () => {
    const { own, now, pass } = newState();
    const failingSince = now();
    own.settled(job({ stage: "handle" }), retry);
    own.looked({ parked: 1 }, failingSince);
    expect(own.report()).toMatchObject({ failingSince, open: { parked: 1 } });
    pass(1);
    own.looked({}, now());
    const report = own.report();
    expect([report.failingSince, report.open]).toEqual([undefined, {}]);
  });

  it("ProcessState says when this process stood still, and is awake since", () => {
    const { own, now, pass } = newState();
    expect(own.awakeSince).toBe(now());
    pass(minute);
    own.stoodStill(7 * second);
    expect(own.report().stoodStill).toEqual({ at: now(), ms: 7 * second });
    expect(own.awakeSince).toBe(now());
  });

  it("ProcessState.report() names this process always by one id, since its time was joined", () => {
    const { own, now, pass } = newState(true);
    pass(second);
    own.joined();
    const since = now();
    pass(second);
    const report = own.report();
    expect(report).toMatchObject({ pid: process.pid, since, at: now(), hasEnded: false });
    expect([report.alerts, report.open]).toEqual([true, undefined]);
    expect(own.report(true)).toMatchObject({ id: report.id, hasEnded: true });
    expect(newState().own.report().id).not.toBe(report.id);
  });
});
