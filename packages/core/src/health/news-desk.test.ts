import { testStages } from "@reporthook/test-support/jobs";
import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { withoutToken } from "../callback-urls/callback-url.ts";
import type { ReceiveResult } from "../http/answer.ts";
import type { Job } from "../inbox/delivery.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { NewsDesk } from "./news-desk.ts";

const second = 1_000;
const minute = 60_000;
const hour = 60 * minute;
const none = { deleted: {}, parked: {}, unsigned: {}, announced: {}, noticeMs: 0, madeRoom: {} };
const { job } = testStages(() => "valid");

function newDesk(alerts = false) {
  const given = manualClock(1_000 * hour);
  const desk = new NewsDesk(new LivedClock(given), alerts);
  const refuse = (refused: string, more: object = {}, isSigned = true): void =>
    desk.answered({ refused, ...more } as ReceiveResult, () => isSigned, 1, "a");
  return { desk, refuse, now: () => given.now(), pass: (ms: number) => given.advance(ms) };
}

describe("verdicts", () => {
  it("NewsDesk knows nothing of the service before an answer", () => {
    const { news } = newDesk().desk;
    expect(news).toMatchObject({ service: "unknown", judgedAt: null, validAt: null, judged: 0 });
    expect(news).toMatchObject({ vain: null, invalid: null, lost: null, unsigned: null });
  });

  it("NewsDesk counts the verdicts of the last minute", () => {
    const { desk, pass } = newDesk();
    for (let count = 0; count < 30; count++) {
      desk.judged(job(), "valid");
      pass(10 * second);
    }
    expect(desk.news.judged).toBe(6);
    pass(30 * second);
    expect(desk.news.judged).toBe(3);
    pass(minute);
    expect(desk.news.judged).toBe(0);
  });

  it.each([
    ["valid", true],
    ["expired", false],
    ["invalid", false],
  ] as const)("NewsDesk says after the verdict %s that the service is ok", (verdict, isValid) => {
    const { desk, now, pass } = newDesk();
    pass(second);
    desk.judged(job(), verdict);
    expect(desk.news).toMatchObject({ service: "ok", judgedAt: now() });
    expect(desk.news.validAt).toBe(isValid ? now() : null);
  });

  it("NewsDesk counts invalid ones until another verdict, and knows when the last five came", () => {
    const { desk, now, pass } = newDesk();
    const since = now();
    for (let count = 0; count < 7; count++) {
      desk.judged(job(), "invalid");
      pass(second);
    }
    const latest = [2, 3, 4, 5, 6].map((at) => since + at * second);
    expect(desk.news.invalid).toEqual({ since, count: 7, latest, hasToken: false });
    desk.judged(job(), "expired");
    expect(desk.news.invalid).toBe(null);
  });

  it("NewsDesk does not count an invalid one that a person had asked about again", () => {
    const { desk, now } = newDesk();
    desk.judged(job({ retryState: '{"askedAgain":true}' }), "invalid");
    expect(desk.news).toMatchObject({ judgedAt: now(), invalid: null });
  });

  it.each<[string, Partial<Job>, boolean]>([
    ["without a token", {}, false],
    ["with a token that carries no context", { context: " " }, true],
    ["with a context", { context: "{}" }, true],
    ["without the token that is needed", { context: withoutToken }, false],
    ["of a request", { requestId: "r" }, true],
  ])("NewsDesk knows of an invalid one %s whether it had a token", (_, given, hasToken) => {
    const { desk } = newDesk();
    desk.judged(job(given), "invalid");
    expect(desk.news.invalid?.hasToken).toBe(hasToken);
    desk.judged(job({ context: withoutToken }), "invalid");
    expect(desk.news.invalid?.hasToken).toBe(hasToken);
  });
});

describe("no verdicts", () => {
  const signed = (signature: string) => job({ id: `of ${signature}`, signature });

  it("NewsDesk has since when calls are in vain, and five deliveries of different signatures", () => {
    const { desk, now, pass } = newDesk();
    const since = now();
    for (const signature of ["a", "a", "b", "c", "d", "e", "f"]) {
      desk.noVerdict(signed(signature), null, true);
      pass(second);
    }
    const ids = ["a", "b", "c", "d", "e"].map((one) => `of ${one}`);
    expect(desk.news.vain).toEqual({ since, isSingle: true, ids });
    desk.judged(job(), "valid");
    expect(desk.news.vain).toBe(null);
  });

  it("NewsDesk leaves out deliveries without a signature", () => {
    const { desk } = newDesk();
    desk.noVerdict(job({ signature: null }), null, true);
    expect(desk.news.vain?.ids).toEqual([]);
  });

  it.each([
    ["unauthorized", true, "refused"],
    ["unavailable", true, "failing"],
    ["unavailable", false, "unreachable"],
  ] as const)(
    "NewsDesk says after %s (answered: %s) that the service is %s",
    (outage, hasAnswered, service) => {
      const { desk } = newDesk();
      desk.noVerdict(job(), outage, hasAnswered);
      expect(desk.news).toMatchObject({ service, vain: { isSingle: false } });
    },
  );

  it("NewsDesk has since when the key is refused, until a verdict", () => {
    const { desk, now, pass } = newDesk();
    const refusedSince = now();
    desk.noVerdict(job(), "unauthorized", true);
    pass(second);
    desk.noVerdict(job(), "unauthorized", true);
    expect(desk.news.refusedSince).toBe(refusedSince);
    desk.judged(job(), "expired");
    expect(desk.news.refusedSince).toBe(null);
  });

  it("NewsDesk believes an answer that may concern one signature only after a minute without verdicts", () => {
    const { desk, pass } = newDesk();
    desk.judged(job(), "valid");
    pass(minute - 1);
    desk.noVerdict(job(), null, true);
    expect(desk.news.service).toBe("ok");
    pass(1);
    desk.noVerdict(job(), null, true);
    expect(desk.news.service).toBe("failing");
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
    "NewsDesk counts a signed one that was refused as %s %o: certain %d, doubtful %d",
    (code, more, certain, doubtful) => {
      const { desk, refuse, now } = newDesk();
      refuse(code, more);
      expect(desk.news.lost).toEqual({
        since: now(),
        certainAt: certain > 0 ? now() : Number.NEGATIVE_INFINITY,
        minutes: [[Math.floor(now() / minute), certain, doubtful]],
      });
    },
  );

  it.each(["not_found", "unsupported_media_type", "invalid_signature"])(
    "NewsDesk counts none that was refused as %s",
    (code) => {
      const { desk, refuse } = newDesk();
      refuse(code, { isOurs: true });
      expect(desk.news.lost).toBe(null);
    },
  );

  it("NewsDesk counts none that is not signed, unless it is ours", () => {
    const { desk, refuse } = newDesk();
    refuse("overloaded", {}, false);
    refuse("overloaded", { isOurs: false }, false);
    expect(desk.news.lost).toBe(null);
    refuse("overloaded", { isOurs: true }, false);
    expect(desk.news.lost?.minutes).toHaveLength(1);
    desk.answered({ status: "accepted", id: "a" }, () => true, 1, "a");
    expect(desk.news.lost?.minutes).toHaveLength(1);
  });

  it("NewsDesk has the losses by minute, for an hour", () => {
    const { desk, refuse, now, pass } = newDesk();
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
    expect(desk.news.lost).toEqual({ since, certainAt: since, minutes });
    pass(hour - minute - 1);
    expect(desk.news.lost?.minutes).toEqual(minutes);
    pass(1);
    expect(desk.news.lost?.minutes).toEqual(minutes.slice(1));
    pass(minute);
    expect(desk.news.lost).toBe(null);
    refuse("overloaded");
    expect(desk.news.lost?.since).toBe(now());
  });
});

describe("the rest", () => {
  it("NewsDesk has since when unsigned ones come, with less than an hour between two, and their headers", () => {
    const { desk, now, pass } = newDesk();
    const since = now();
    desk.unsigned(["a", "b"]);
    pass(hour);
    desk.unsigned(["c", "x".repeat(300)]);
    expect(desk.news.unsigned).toEqual({ since, at: now(), headers: ["c", "x".repeat(198)] });
    pass(hour + 1);
    desk.unsigned(["d"]);
    expect(desk.news.unsigned).toEqual({ since: now(), at: now(), headers: ["d"] });
  });

  it("NewsDesk has since when handlers fail", () => {
    const { desk, now, pass } = newDesk();
    const retry = { to: "retry", afterMs: 1, error: "", countsAsAttempt: true } as const;
    desk.settled(job(), retry);
    desk.settled(job({ stage: "handle" }), { to: "handled" });
    expect(desk.news.failingSince).toBe(null);
    const failingSince = now();
    desk.settled(job({ stage: "handle" }), retry);
    pass(second);
    desk.settled(job({ stage: "handle" }), retry);
    expect(desk.news.failingSince).toBe(failingSince);
  });

  it("NewsDesk says for 30 seconds that one could not be stored, since the first, unless one was", () => {
    const { desk, now, pass } = newDesk();
    const since = now();
    desk.notStored(new Error("full"));
    pass(20 * second);
    desk.notStored(new Error("x".repeat(400)));
    pass(30 * second - 1);
    expect(desk.news.fails).toMatchObject({ since, error: `Error: ${"x".repeat(293)}` });
    pass(1);
    expect(desk.news.fails).toBe(null);
    desk.notStored(new Error("full"));
    expect(desk.news.fails).toMatchObject({ since: now() });
    desk.stored();
    expect(desk.news.fails).toBe(null);
  });

  it("NewsDesk says what the inbox says of itself, since the first time", () => {
    const { desk, now, pass } = newDesk();
    const since = now();
    desk.inboxSays("away");
    pass(second);
    desk.inboxSays("still away");
    expect(desk.news.fails).toEqual({ since, error: "still away" });
    desk.inboxSays(null);
    expect(desk.news.fails).toBe(null);
    desk.inboxSays("away again");
    expect(desk.news.fails?.since).toBe(now());
  });

  it("NewsDesk says when this process stood still, and is awake since", () => {
    const { desk, now, pass } = newDesk();
    expect(desk.awakeSince).toBe(now());
    pass(minute);
    desk.stoodStill(7 * second);
    expect(desk.news.stoodStill).toEqual({ at: now(), ms: 7 * second });
    expect(desk.awakeSince).toBe(now());
  });

  it("NewsDesk sums up what retention deletes, for an hour from the last time", () => {
    const { desk, now, pass } = newDesk();
    desk.pruned({ ...none, parked: { expired: 2 } });
    pass(hour - 1);
    desk.pruned({ ...none, madeRoom: { expired: 3 }, unsigned: { unsigned: 1 } });
    expect(desk.news.deleted).toEqual({ expired: [now(), 5], unsigned: [now(), 1] });
    pass(hour);
    expect(desk.news.deleted).toEqual({});
    desk.pruned({ ...none, parked: { expired: 4 } });
    expect(desk.news.deleted).toEqual({ expired: [now(), 4] });
  });

  it("NewsDesk.report() names this process always by one id, since its time was joined", () => {
    const { desk, now, pass } = newDesk(true);
    pass(second);
    desk.joined();
    const since = now();
    pass(second);
    const report = desk.report();
    expect(report).toMatchObject({ pid: process.pid, since, at: now(), hasEnded: false });
    expect(report.news).toMatchObject({ alerts: true, open: null });
    expect(desk.report(true)).toMatchObject({ id: report.id, hasEnded: true });
    expect(newDesk().desk.report().id).not.toBe(report.id);
  });
});
