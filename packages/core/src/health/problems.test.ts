import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { zeroCounts } from "../inbox/counts.ts";
import type { Facts } from "../inbox/facts/facts.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import type { FoundProblem } from "./problem.ts";
import { problemsOf } from "./problems.ts";
import { livingOf, type ProcessReport } from "./process-report.ts";
import { ProcessState } from "./process-state.ts";
import type { Situation } from "./situation.ts";

const second = 1_000;
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const now = 100 * day;
const ago = (ms: number): number => now - ms;

const quiet: ProcessReport = {
  ...new ProcessState(new LivedClock(manualClock(now)), false).report(),
  id: "own",
  host: "web-1",
  pid: 1,
  version: "1",
  since: ago(hour),
};

interface Case {
  readonly facts?: Partial<Omit<Facts, "counts">> & { readonly received?: number };
  readonly own?: Partial<ProcessReport>;
  readonly others?: readonly Partial<ProcessReport>[];
  readonly everValid?: boolean;
  readonly overdue?: Situation["overdue"];
  /** Why the inbox fails, as it says itself. */
  readonly fails?: string | null;
}

function situationOf({
  facts = {},
  own = {},
  others = [],
  everValid = true,
  overdue = null,
  fails = null,
}: Case): Situation {
  const { received = 0, ...rest } = facts;
  const none = { newest: null, oldestUnverified: null, oldestWaiting: null };
  const seen = {
    counts: { ...zeroCounts(), received },
    ...none,
    parked: [],
    deleted: {},
    expiring: null,
    failing: null,
    ...rest,
  };
  const reports = [
    { ...quiet, ...own },
    ...others.map((other, index) => ({ ...quiet, id: `o${index}`, pid: index + 2, ...other })),
  ];
  return {
    receiver: "shop",
    now,
    reports,
    living: livingOf(reports, now),
    watchedSince: Number.NEGATIVE_INFINITY,
    everValid,
    overdue,
    facts: fails === null ? seen : null,
    fails: fails === null ? undefined : { since: now, error: fails },
  };
}

const found = (given: Case): readonly FoundProblem[] => problemsOf(situationOf(given));
const told = (given: Case): string[] =>
  found(given).map(({ code, severity, reason }) =>
    [code, severity, reason].filter((part) => part !== null).join(" "),
  );

const vain = {
  since: ago(5 * minute),
  at: ago(second),
  isSingle: true,
  ids: ["1", "2"],
  error: "answered 500",
};
const waiting = { received: 2, oldestUnverified: ago(minute), oldestWaiting: ago(minute) };
const run = (count: number, rest: Partial<NonNullable<ProcessReport["invalid"]>> = {}) => ({
  since: ago(hour),
  count,
  hasToken: false,
  latest: [5, 4, 3, 2, 1].map((seconds) => ago(seconds * second)).slice(-count),
  ...rest,
});
const lost = (certainMs: number, ...minutes: readonly (readonly [number, number, number])[]) => ({
  since: ago(hour),
  certainAt: ago(certainMs),
  minutes: minutes.map(([at, ...counts]) => [Math.floor(ago(at) / minute), ...counts] as const),
});

/** Of each problem: a case, and what is told. */
const cases: readonly (readonly [string, Case, readonly string[]])[] = [
  ["nothing", {}, []],
  [
    "the key is refused",
    { facts: waiting, own: { refusedSince: ago(minute), vain } },
    ["key_refused critical"],
  ],
  [
    "the key was refused to a process that has ended, and none has asked since",
    { others: [{ hasEnded: true, at: ago(minute), refusedSince: ago(hour) }] },
    ["key_refused critical"],
  ],
  [
    "the key was refused to a process that has ended, and there was a verdict since",
    {
      own: { judgedAt: ago(second) },
      others: [{ hasEnded: true, at: ago(minute), refusedSince: ago(hour) }],
    },
    [],
  ],
  [
    "the key was refused to a process that went on after a verdict of another one, without asking again",
    {
      own: { judgedAt: ago(minute) },
      others: [{ hasEnded: true, refusedSince: ago(hour), vain: { ...vain, at: ago(2 * minute) } }],
    },
    [],
  ],
  [
    "the key was refused to a process that has ended, and was asked again after a verdict of another one",
    {
      own: { judgedAt: ago(2 * minute) },
      others: [{ hasEnded: true, refusedSince: ago(hour), vain: { ...vain, at: ago(minute) } }],
    },
    ["key_refused critical"],
  ],
  [
    "the key is refused to one of two processes",
    { own: { judgedAt: ago(second) }, others: [{ refusedSince: ago(hour) }] },
    ["key_refused critical"],
  ],
  [
    "no verdict for a minute",
    { facts: waiting, own: { vain: { ...vain, isSingle: false } } },
    ["no_verdicts critical", "behind warning"],
  ],
  [
    "no verdict for 59 seconds",
    { facts: { ...waiting, oldestUnverified: ago(minute - 1) }, own: { vain } },
    [],
  ],
  [
    "no verdict, and the last was a minute ago",
    { facts: waiting, own: { vain: { ...vain, isSingle: false }, judgedAt: ago(minute) } },
    ["no_verdicts critical", "behind warning"],
  ],
  [
    "a verdict in the last minute",
    { facts: waiting, own: { vain, judgedAt: ago(minute - 1), judged: 1 } },
    [],
  ],
  ["nobody has asked", { facts: { ...waiting, received: 0 } }, []],
  [
    "answers that may concern four signatures",
    { facts: waiting, own: { vain: { ...vain, ids: ["1", "2", "3", "4"] }, judgedAt: ago(hour) } },
    ["no_verdicts warning", "behind warning"],
  ],
  [
    "such answers for five",
    {
      facts: waiting,
      own: { vain: { ...vain, ids: ["1", "2", "3", "4", "5"] }, judgedAt: ago(hour) },
    },
    ["no_verdicts critical", "behind warning"],
  ],
  [
    "such answers, and no verdict for a day",
    { facts: waiting, own: { vain, judgedAt: ago(day) } },
    ["no_verdicts critical", "behind warning"],
  ],
  [
    "five, and none was ever valid",
    { everValid: false, own: { invalid: run(5) } },
    ["all_rejected critical"],
  ],
  ["four", { own: { invalid: run(4) } }, []],
  [
    "five after a valid one that ended a run with our token",
    {
      own: { invalid: run(5), validAt: ago(minute) },
      others: [{ invalid: run(3, { hasToken: true, latest: [ago(hour)] }) }],
      everValid: true,
    },
    ["all_rejected warning"],
  ],
  [
    "five by two processes",
    { own: { invalid: run(3) }, others: [{ invalid: run(2) }] },
    ["all_rejected warning"],
  ],
  [
    "five, and then a valid one in another process",
    { own: { invalid: run(5) }, others: [{ validAt: now }] },
    [],
  ],
  ["lost 5 minutes ago", { own: { lost: lost(5 * minute, [5 * minute, 2, 0]) } }, ["lost warning"]],
  ["lost over an hour ago", { own: { lost: lost(62 * minute, [62 * minute, 2, 0]) } }, []],
  [
    "lost by a process that is gone",
    { others: [{ hasEnded: true, at: ago(minute), lost: lost(minute, [minute, 1, 0]) }] },
    ["lost critical"],
  ],
  [
    "unsigned ones that are refused, and none was ever valid",
    {
      everValid: false,
      own: { unsigned: { since: ago(hour), at: ago(minute), headers: ["x-sign"] } },
    },
    ["no_signature warning"],
  ],
  [
    "unsigned ones, once one was valid",
    { facts: { parked: [{ reason: "unsigned", count: 2, since: ago(hour) }] } },
    ["parked warning unsigned"],
  ],
  ["one has waited for 10 minutes", { facts: { oldestWaiting: ago(10 * minute) } }, []],
  [
    "one has waited for longer",
    { facts: { oldestWaiting: ago(10 * minute + 1) } },
    ["behind warning"],
  ],
  [
    "more wait than are judged in 5 minutes",
    { facts: { ...waiting, received: 51 }, own: { judged: 10 } },
    ["behind warning"],
  ],
  [
    "as many wait as are judged in 5 minutes",
    { facts: { ...waiting, received: 50 }, own: { judged: 10 } },
    [],
  ],
  [
    "after 10 seconds, at the pace of these",
    {
      facts: { ...waiting, oldestUnverified: ago(10 * second), received: 301 },
      own: { judged: 10 },
    },
    ["behind warning"],
  ],
  [
    "parked for two reasons",
    {
      facts: {
        parked: [
          { reason: "expired", count: 1, since: ago(day) },
          { reason: "poison", count: 2, since: ago(hour) },
        ],
      },
    },
    ["parked warning expired", "parked warning poison"],
  ],
  [
    "another process is silent, and the inbox fails a tool",
    { fails: "disk full", others: [{ at: ago(minute) }] },
    ["inbox_fails critical"],
  ],
  [
    "another process is silent",
    { others: [{ at: ago(10 * second) }] },
    ["process_stalled warning 2 on web-1"],
  ],
  ["another process spoke 9 seconds ago", { others: [{ at: ago(9 * second) }] }, []],
  ["another process has ended", { others: [{ at: ago(minute), hasEnded: true }] }, []],
  ["another process is silent for an hour", { others: [{ at: ago(hour) }] }, []],
  [
    "another process is silent, and the next one has its number",
    { others: [{ at: ago(minute) }, { pid: 2, since: ago(second) }] },
    [],
  ],
  ["it did 10 minutes ago", { own: { stoodStill: { at: ago(10 * minute), ms: 6 * second } } }, []],
];

const service = { code: "no_verdicts", command: "inbox list --state received" } as const;
const rejected = {
  code: "all_rejected",
  command: "inbox list --state rejected --newest-first",
} as const;
const unsigned = {
  code: "no_signature",
  severity: "warning",
  command: "inbox list --reason unsigned",
} as const;
const late = {
  code: "behind",
  severity: "warning",
  command: "inbox list --state received",
} as const;
const unasked = {
  received: 1,
  oldestUnverified: ago(12 * minute),
  oldestWaiting: ago(12 * minute),
};
const stalled = { code: "process_stalled", severity: "warning" } as const;

/** Of a case: the whole of its first problem, where it is not left out. */
const wholes: readonly (readonly [string, Case, Partial<FoundProblem>])[] = [
  [
    "the inbox fails two processes",
    {
      own: { fails: { since: ago(second), error: "disk full" } },
      others: [{ fails: { since: ago(minute), error: `away\u001b${"x".repeat(600)}` } }],
    },
    {
      code: "inbox_fails",
      severity: "critical",
      since: ago(minute),
      text: `The inbox can't store: notifications are answered 503. away\\u001b${"x".repeat(495)}.`,
    },
  ],
  [
    "the key is refused, and nothing is known of the inbox",
    { fails: "away", own: { refusedSince: ago(minute) } },
    {
      code: "inbox_fails",
      severity: "critical",
      since: now,
      text: "The inbox can't store: notifications are answered 503. away.",
    },
  ],
  [
    "no verdicts",
    { facts: { ...waiting, received: 1 }, own: { vain } },
    {
      ...service,
      severity: "critical",
      since: ago(5 * minute),
      count: 1,
      text: "The service gives no verdict, for 5 min now. 1 delivery waits; what is over 5 minutes old by the verdict is held, unless the option expired says otherwise, and each after an hour. Check baseUrl, and whether the service is reachable. Last error: answered 500.",
    },
  ],
  [
    "all are rejected",
    { own: { invalid: run(9) } },
    {
      ...rejected,
      severity: "warning",
      since: ago(hour),
      count: 9,
      text: 'The last 9 verdicts were all "invalid". If genuine notifications are among them, the API key belongs to another account, or baseUrl is wrong: set it right, then ask again with npx reporthook inbox retry --state rejected --receiver shop.',
    },
  ],
  [
    "all are rejected at callback URLs",
    { own: { invalid: run(9, { hasToken: true }) } },
    {
      ...rejected,
      severity: "critical",
      since: ago(hour),
      count: 9,
      text: 'The last 9 verdicts were all "invalid", some at callback URLs of ours. If genuine notifications are among them, the API key belongs to another account, or baseUrl is wrong: set it right, then ask again with npx reporthook inbox retry --state rejected --receiver shop.',
    },
  ],
  [
    "lost for certain",
    { own: { lost: lost(second, [second, 1, 7]) } },
    {
      code: "lost",
      severity: "critical",
      since: ago(hour),
      count: 1,
      text: "1 notification was turned away in the last hour: answered 503, or 408 or 413 at a callback URL of ours. The service documents no second try: they may be lost.",
    },
  ],
  [
    "lost perhaps, by two processes",
    {
      own: {
        lost: { ...lost(Infinity, [second, 0, 1], [59 * minute, 0, 2]), since: ago(minute) },
      },
      others: [{ lost: lost(Infinity, [second, 0, 4]) }],
    },
    {
      code: "lost",
      severity: "warning",
      since: ago(hour),
      count: 7,
      text: "7 notifications were answered 408, 413 or 503 without a callback token in the last hour. Were they genuine, they are lost. Of a 413 see limits.bodyBytes, of a 408 limits.bodyMs; a 503 had no verdict.",
    },
  ],
  [
    "unsigned ones that are held, and those that came last",
    {
      everValid: false,
      facts: { parked: [{ reason: "unsigned", count: 2, since: ago(minute) }] },
      own: { unsigned: { since: ago(hour), at: ago(3 * hour), headers: ["x-old"] } },
      others: [
        {
          unsigned: { since: ago(day), at: ago(2 * hour), headers: ["x-a", "x-b\u001b"] },
        },
      ],
    },
    {
      ...unsigned,
      since: ago(day),
      count: 2,
      text: "Notifications come without a signature, and none with one was ever valid here. The option signature may name the wrong header. Headers that came: x-a, x-b\\u001b.",
    },
  ],
  [
    "unsigned ones that are held, of processes that are gone",
    { everValid: false, facts: { parked: [{ reason: "unsigned", count: 2, since: ago(minute) }] } },
    {
      ...unsigned,
      since: ago(minute),
      count: 2,
      text: "Notifications come without a signature, and none with one was ever valid here. The option signature may name the wrong header.",
    },
  ],
  [
    "handlers fail, with an error nobody kept",
    { facts: { failing: { count: 1, error: null } }, own: { failingSince: ago(minute) } },
    {
      code: "handlers_failing",
      severity: "warning",
      since: ago(minute),
      count: 1,
      text: "1 delivery waits for another attempt because handlers failed.",
      command: "inbox list --state verified",
    },
  ],
  [
    "verification is behind",
    { facts: { ...waiting, received: 51 }, own: { judged: 4 }, others: [{ judged: 6 }] },
    {
      ...late,
      since: now,
      count: 51,
      text: "Verification is behind: 51 deliveries wait for a verdict, and 10 were judged in the last minute. Signatures expire after 5 minutes: raise concurrency.verify, or see why the service is slow.",
    },
  ],
  [
    "no verdict came at all",
    { facts: unasked },
    {
      ...late,
      since: ago(11 * minute),
      count: 1,
      text: "Verification is behind: 1 delivery waits for a verdict, and 0 were judged in the last minute. Signatures expire after 5 minutes: see why the service gives none.",
    },
  ],
  [
    "one has waited long",
    { facts: { received: 3, oldestUnverified: ago(second), oldestWaiting: ago(15 * minute) } },
    {
      ...late,
      since: ago(5 * minute),
      count: 3,
      command: "inbox list --state verified",
      text: "3 deliveries wait, the oldest for 15 min: handlers are too slow or fail, or the service gives no verdict.",
    },
  ],
  [
    "no process runs that would ask for verdicts",
    { facts: unasked, own: { hasEnded: true } },
    {
      ...late,
      since: ago(11 * minute),
      count: 1,
      text: "Verification is behind: 1 delivery waits for a verdict, and 0 were judged in the last minute. Signatures expire after 5 minutes: no process gives a sign of life, start the app.",
    },
  ],
  [
    "no process runs that would handle",
    { facts: { oldestWaiting: ago(15 * minute) }, own: { at: ago(15 * minute), hasEnded: true } },
    {
      ...late,
      since: ago(5 * minute),
      count: 0,
      command: "inbox list --state verified",
      text: "0 deliveries wait, the oldest for 15 min: no process gives a sign of life, start the app.",
    },
  ],
  [
    "parked",
    { facts: { parked: [{ reason: "poison", count: 1, since: ago(day) }] } },
    {
      code: "parked",
      severity: "warning",
      since: ago(day),
      count: 1,
      reason: "poison",
      text: "1 delivery is parked as poison. Release or discard what waits for a person.",
      command: "inbox list --reason poison",
    },
  ],
  [
    "parked, and erased",
    { facts: { parked: [{ reason: "erased", count: 2, since: ago(day) }] } },
    {
      code: "parked",
      severity: "warning",
      since: ago(day),
      count: 2,
      reason: "erased",
      text: "2 deliveries are parked as erased. Discard what waits for a person.",
      command: "inbox list --reason erased",
    },
  ],
  [
    "parked ones will be deleted",
    { facts: { expiring: { count: 1, since: ago(hour), deletedFrom: now + 2 * day } } },
    {
      code: "parked_expiring",
      severity: "warning",
      since: ago(hour),
      count: 1,
      text: "1 parked delivery will be deleted, the first in 2 days. Release or discard before.",
      command: "inbox list --state parked",
    },
  ],
  [
    "overdue",
    { overdue: { count: 1, since: ago(hour) } },
    {
      code: "overdue",
      severity: "warning",
      since: ago(hour),
      count: 1,
      text: "1 report is overdue: no final notification came, or none was valid. See what is parked, look the report up at the service, then settle it.",
      command: "reports list --state overdue",
    },
  ],
  [
    "a silent process",
    { others: [{ host: "web\u001b", at: ago(minute) }] },
    {
      ...stalled,
      since: ago(minute),
      reason: "2 on web\\u001b",
      text: "Process 2 on web\\u001b has been silent for 60 s. If it stands still, end it; if it has ended without a word, see why: it is shown for an hour.",
    },
  ],
  [
    "a process that stood still",
    { own: { stoodStill: { at: ago(9 * minute), ms: 6 * second } } },
    {
      ...stalled,
      since: ago(9 * minute + 6 * second),
      reason: "1 on web-1",
      text: "Process 1 on web-1 stood still for 6 s, until 9 min ago. Look for synchronous work in handlers, or a starved machine.",
    },
  ],
];

describe("problems", () => {
  it.each(cases)("problemsOf() tells what is wrong: %s", (_, given, expected) => {
    expect(told(given)).toEqual(expected);
  });

  it("problemsOf() tells critical ones first", () => {
    const given: Case = {
      facts: {
        failing: { count: 1, error: null },
        parked: [{ reason: "expired", count: 1, since: 1 }],
      },
      own: { lost: lost(second, [second, 1, 0]), invalid: run(5) },
    };
    expect(told(given)).toEqual([
      "lost critical",
      "all_rejected warning",
      "handlers_failing warning",
      "parked warning expired",
    ]);
  });

  it("problemsOf() tells since when, as it was seen first, also by a process that has ended", () => {
    const open = { handlers_failing: ago(hour) };
    const failing = { facts: { failing: { count: 1, error: null } } };
    const since = (given: Case): number | undefined => found({ ...failing, ...given })[0]?.since;
    expect(since({})).toBe(now);
    expect(since({ own: { open } })).toBe(ago(hour));
    expect(since({ others: [{ open }] })).toBe(ago(hour));
    expect(since({ others: [{ hasEnded: true, open }] })).toBe(ago(hour));
    // It is over, and has begun again.
    expect(since({ own: { open: {} }, others: [{ hasEnded: true, open }] })).toBe(now);
  });

  it("problemsOf() knows since when handlers fail from processes that have ended, where none runs", () => {
    const ended = { ...quiet, at: ago(minute), hasEnded: true, failingSince: ago(hour) };
    const facts = { failing: { count: 1, error: "Error: no" } };
    const [problem] = problemsOf({ ...situationOf({ facts }), reports: [ended], living: [] });
    expect(problem).toMatchObject({ code: "handlers_failing", since: ago(hour) });
  });

  it("problemsOf() states how many and how long, and shows text of others on one line", () => {
    const texts = found({
      facts: {
        ...waiting,
        received: 40,
        oldestUnverified: ago(2 * minute),
        failing: { count: 2, error: "Error:\u001b at https://a.example/secret" },
      },
      own: { refusedSince: ago(2 * minute) },
    }).map(({ text }) => text);
    expect(texts).toEqual([
      "The service refuses the API key, for 2 min now. 40 deliveries wait, the oldest signature expires in 3 min. Set the right key: it is asked again by itself, and what is over 5 minutes old by then is held, unless the option expired says otherwise.",
      "2 deliveries wait for another attempt because handlers failed. Most frequent error: Error:\\u001b at https://a.example/….",
    ]);
    const [late] = found({
      facts: { ...waiting, oldestUnverified: ago(6 * minute) },
      own: { refusedSince: ago(6 * minute) },
    });
    expect(late?.text).toContain("2 deliveries wait, the oldest signature has expired. ");
  });

  it.each(wholes)(
    "problemsOf() says of each what is wrong, how many and since when: %s",
    (_, given, problem) => {
      const [first] = found(given);
      expect(first).toEqual({ reason: null, count: null, command: null, ...problem });
    },
  );

  it("problemsOf() says since when all are rejected, though one was valid meanwhile in another process", () => {
    const [problem] = found({
      own: { invalid: run(9) },
      others: [{ validAt: ago(5.5 * second) }],
    });
    expect(problem).toMatchObject({ code: "all_rejected", count: 5, since: ago(5.5 * second) });
  });
});
