import { signatureLifetimeMs } from "../inbox/delivery.ts";
import type { Facts } from "../inbox/facts.ts";
import { counted, duration } from "../lib/duration.ts";
import { printable } from "../lib/printable.ts";
import { redactAddresses } from "../lib/redact.ts";
import type { News } from "./news.ts";
import { keyOf, type Problem, problemKinds } from "./problem.ts";

/** A process on the inbox, and its news. Times are lived times in milliseconds. */
export interface Report {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  /** The version of this package. */
  readonly version: string;
  readonly since: number;
  /** Its last sign of life, and the milliseconds until the next one. */
  readonly at: number;
  readonly everyMs: number;
  readonly hasEnded: boolean;
  readonly news: News;
}

/** All that is known of a receiver. */
export interface Known {
  /** Null while the inbox gives no answer. */
  readonly facts: Facts | null;
  /** Of this process, and of others. */
  readonly reports: readonly Report[];
  /** Whether a signed notification was ever valid here. */
  readonly everValid: boolean;
  /** Since when other processes are watched. */
  readonly watchedSince: number;
}

/** A problem by lived time; its command is one of the program `reporthook`. */
export interface Found extends Omit<Problem, "since" | "url"> {
  readonly since: number;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;
const never = Number.NEGATIVE_INFINITY;
/** Less of a time is too little to tell how many are judged in a minute. */
const tellingMs = 10_000;

/** What is wrong with a receiver at `now`, worst first. */
export function problemsOf(known: Known, now: number): readonly Found[] {
  const found = judges.flatMap((judge) => judge(new Situation(known, now)));
  const shown = found.filter(({ code }) => !found.some((one) => hides(one.code, code)));
  const opened = openedIn(known, now);
  return shown
    .map((problem) => ({
      ...problem,
      since: Math.min(problem.since, opened(keyOf(problem))),
      text: problem.text.replace(/\.?$/, "."),
    }))
    .sort((one, other) => rankOf(one) - rankOf(other));
}

function rankOf({ code, severity }: Found): number {
  return problemKinds.indexOf(code) + (severity === "critical" ? 0 : problemKinds.length);
}

function hides(shown: Found["code"], other: Found["code"]): boolean {
  return shown === "key_refused" && (other === "no_verdicts" || other === "behind");
}

/** When a problem began, as processes that live have seen it: one that begins takes it from those that have ended. */
function openedIn(known: Known, now: number): (key: string) => number {
  const { living } = new Situation(known, now);
  const seen = living.filter(({ news }) => news.open !== null);
  const believed = seen.length > 0 ? seen : known.reports;
  return (key) => Math.min(...believed.map(({ news }) => news.open?.[key] ?? Infinity));
}

/** The processes that speak, of those watched since a moment. */
export function livingOf(
  reports: readonly Report[],
  now: number,
  watchedSince: number = Number.NEGATIVE_INFINITY,
): Report[] {
  return reports.filter(
    ({ hasEnded, at, everyMs }) => !hasEnded && now - Math.max(at, watchedSince) < 2 * everyMs,
  );
}

/** What the judges have in common. */
class Situation {
  readonly facts: Facts | null;
  readonly reports: readonly Report[];
  readonly now: number;
  readonly everValid: boolean;
  /** The processes that speak. */
  readonly living: readonly Report[];
  readonly judgedAt: number;
  readonly validAt: number;

  constructor({ facts, reports, everValid, watchedSince }: Known, now: number) {
    this.facts = facts;
    this.reports = reports;
    this.now = now;
    this.living = livingOf(reports, now, watchedSince);
    this.judgedAt = Math.max(never, ...reports.map(({ news }) => news.judgedAt ?? never));
    this.validAt = Math.max(never, ...reports.map(({ news }) => news.validAt ?? never));
    this.everValid = everValid || this.validAt > never;
  }

  /** Whether the service may still be as a process says: one that is gone is believed until another one had a verdict since. */
  isBelieved(report: Report): boolean {
    const isLater = ({ id, news }: Report): boolean =>
      id !== report.id && (news.judgedAt ?? never) > report.at;
    return this.living.includes(report) || !this.reports.some(isLater);
  }

  isSince(moment: number, ms: number): boolean {
    return this.now - moment < ms;
  }
}

type Judge = (situation: Situation) => readonly Found[];

const judges: readonly Judge[] = [
  ...[inboxFails, keyRefused, noVerdicts, allRejected, lost, noSignature, handlersFailing, behind],
  ...[parked, parkedExpiring, overdue, processStalled],
];

const alone = { count: null, reason: null, command: null } as const;

function inboxFails({ living }: Situation): Found[] {
  const fails = living.flatMap(({ news }) => news.fails ?? []);
  const [first] = fails.sort((one, other) => one.since - other.since);
  if (first === undefined) return [];
  const text = `The inbox can't store: notifications are answered 503. ${plain(first.error)}`;
  return [{ ...alone, code: "inbox_fails", severity: "critical", since: first.since, text }];
}

function keyRefused(situation: Situation): Found[] {
  const { facts, reports, now } = situation;
  const refused = reports
    .filter((one) => situation.isBelieved(one))
    .flatMap(({ news }) => news.refusedSince ?? []);
  if (refused.length === 0) return [];
  const since = Math.min(...refused);
  const count = facts?.counts.received ?? null;
  const oldest = facts?.oldestUnverified ?? null;
  const leftMs = oldest === null ? null : oldest + signatureLifetimeMs - now;
  const expires =
    leftMs === null
      ? ""
      : leftMs > 0
        ? `, the oldest signature expires in ${duration(leftMs)}`
        : ", the oldest signature has expired";
  const waits =
    count === null ? "" : ` ${counted(count, "delivery waits", "deliveries wait")}${expires}.`;
  const text = `The service refuses the API key, for ${duration(now - since)} now.${waits} Set the right key: it is asked again by itself`;
  const command = "inbox list --state received";
  return [{ ...alone, code: "key_refused", severity: "critical", since, count, text, command }];
}

function noVerdicts(situation: Situation): Found[] {
  const { facts, reports, now, judgedAt } = situation;
  const oldest = facts?.oldestUnverified ?? null;
  const vain = reports
    .filter((one) => situation.isBelieved(one))
    .flatMap(({ news }) => news.vain ?? []);
  if (oldest === null || vain.length === 0 || situation.isSince(oldest, minuteMs)) return [];
  if (situation.isSince(judgedAt, minuteMs)) return [];
  const ids = new Set(vain.flatMap((one) => one.ids));
  const isTheirs = vain.every(({ isSingle }) => isSingle) && ids.size < 5;
  const severity = isTheirs && situation.isSince(judgedAt, dayMs) ? "warning" : "critical";
  const since = Math.min(...vain.map((one) => one.since));
  const count = facts?.counts.received ?? null;
  const text = `The service gives no verdict, for ${duration(now - since)} now. ${counted(count ?? 0, "delivery waits", "deliveries wait")}; after an hour each is held. Check baseUrl, and whether the service is reachable`;
  const command = "inbox list --state received";
  return [{ ...alone, code: "no_verdicts", severity, since, count, text, command }];
}

function allRejected({ reports, validAt, everValid }: Situation): Found[] {
  const runs = reports.flatMap(({ news }) => news.invalid ?? []);
  const latest = runs.flatMap((run) => run.latest).filter((at) => at > validAt);
  if (latest.length < 5) return [];
  const count = runs.reduce(
    (sum, run) =>
      sum + (run.since > validAt ? run.count : run.latest.filter((at) => at > validAt).length),
    0,
  );
  const isOurs = runs.some(({ hasToken }) => hasToken) || !everValid;
  const since = Math.min(...runs.map((run) => (run.since > validAt ? run.since : validAt)));
  const text = `The last ${count} verdicts were all "invalid". If genuine notifications are among them, the API key belongs to another account, or baseUrl is wrong: set it right, then ask again with inbox retry --state rejected`;
  const command = "inbox list --state rejected --newest-first";
  const severity = isOurs ? "critical" : "warning";
  return [{ ...alone, code: "all_rejected", severity, since, count, text, command }];
}

function lost(situation: Situation): Found[] {
  const { reports, now } = situation;
  const all = reports.flatMap(({ news }) => news.lost ?? []);
  let [certain, doubtful] = [0, 0];
  for (const [minute, some, others] of all.flatMap(({ minutes }) => minutes)) {
    if ((minute + 1) * minuteMs <= now - hourMs) continue;
    certain += some;
    doubtful += others;
  }
  if (certain + doubtful === 0) return [];
  const certainAt = Math.max(...all.map((one) => one.certainAt));
  const isFresh = certain > 0 && situation.isSince(certainAt, 5 * minuteMs);
  const since = Math.min(...all.map((one) => one.since));
  const count = certain > 0 ? certain : doubtful;
  const notifications = counted(count, "notification was", "notifications were");
  const text =
    certain > 0
      ? `${notifications} answered 503 in the last hour. The service documents no second try: they may be lost`
      : `${notifications} answered 408, 413 or 503 without a callback token in the last hour. Were they genuine, they are lost: see limits.bodyBytes and limits.bodyMs`;
  const severity = isFresh ? "critical" : "warning";
  return [{ ...alone, code: "lost", severity, since, count, text }];
}

function noSignature(situation: Situation): Found[] {
  const { facts, reports, everValid } = situation;
  if (everValid) return [];
  const held = facts?.parked.find(({ reason }) => reason === "unsigned");
  const came = reports
    .flatMap(({ news }) => news.unsigned ?? [])
    .filter(({ at }) => held !== undefined || situation.isSince(at, hourMs))
    .sort((one, other) => other.at - one.at);
  if (held === undefined && came.length === 0) return [];
  const since = Math.min(held?.since ?? Infinity, ...came.map((one) => one.since));
  const headers =
    came[0] === undefined ? "" : `. Headers that came: ${plain(came[0].headers.join(", "))}`;
  const text = `Notifications come without a signature, and none with one was ever valid here. The option signature may name the wrong header${headers}`;
  const command = "inbox list --reason unsigned";
  const count = held?.count ?? null;
  return [{ ...alone, code: "no_signature", severity: "warning", since, count, text, command }];
}

function handlersFailing({ facts, now }: Situation): Found[] {
  const { count = 0, error = null } = facts?.failing ?? {};
  if (count === 0) return [];
  const most = error === null ? "" : ` Most frequent error: ${shown(error)}`;
  const text = `${counted(count, "delivery waits", "deliveries wait")} for another attempt because handlers failed.${most}`;
  const command = "inbox list --state verified";
  return [
    { ...alone, code: "handlers_failing", severity: "warning", since: now, count, text, command },
  ];
}

function behind(situation: Situation): Found[] {
  const { facts, living, now } = situation;
  const { oldestWaiting, oldestUnverified, counts } = facts ?? {};
  const waitedMs = now - (oldestWaiting ?? now);
  const unverifiedMs = Math.min(minuteMs, now - (oldestUnverified ?? now));
  const judged = living.reduce((sum, { news }) => sum + news.judged, 0);
  const unverified = counts?.received ?? 0;
  // Of less than a minute, as if it went on like this.
  const isSlow = judged > 0 && unverifiedMs >= tellingMs;
  const perMinute = (judged * minuteMs) / Math.max(1, unverifiedMs);
  const isBehind = (isSlow || unverifiedMs === minuteMs) && unverified > 5 * perMinute;
  if (!isBehind && waitedMs <= 10 * minuteMs) return [];
  const count = unverified + (counts?.verified ?? 0);
  const text = isBehind
    ? `Verification is behind: ${unverified} wait for their verdict, and ${judged} were judged in the last minute. Signatures expire after 5 minutes: raise concurrency.verify, or see why the service is slow`
    : `${counted(count, "delivery waits", "deliveries wait")}, the oldest for ${duration(waitedMs)}. Handlers are too slow or fail, or the service gives no verdict`;
  const since = waitedMs > 10 * minuteMs ? (oldestWaiting ?? now) + 10 * minuteMs : now;
  const command = "inbox stats";
  return [{ ...alone, code: "behind", severity: "warning", since, count, text, command }];
}

function parked(situation: Situation): Found[] {
  const left = noSignature(situation).length > 0 ? "unsigned" : null;
  const all = situation.facts?.parked.filter(({ reason }) => reason !== left) ?? [];
  return all.map(({ reason, count, since }) => ({
    ...({ code: "parked", severity: "warning", since, count, reason } as const),
    text: `${counted(count, "delivery is", "deliveries are")} parked as ${reason}. Release or discard what waits for a person`,
    command: `inbox list --reason ${reason}`,
  }));
}

function parkedExpiring({ facts, now }: Situation): Found[] {
  const { count = 0, deletedFrom = now } = facts?.expiring ?? {};
  if (count === 0) return [];
  const text = `${counted(count, "parked delivery", "parked deliveries")} will be deleted, the first in ${duration(deletedFrom - now)}. Release or discard before`;
  const command = "inbox list --state parked";
  return [
    { ...alone, code: "parked_expiring", severity: "warning", since: now, count, text, command },
  ];
}

function overdue({ facts, now }: Situation): Found[] {
  const { count = 0, since = now } = facts?.overdue ?? {};
  if (count === 0) return [];
  const text = `${counted(count, "report is", "reports are")} overdue: no final notification came. Look the report up at the service, then settle it`;
  const command = "reports list --state overdue";
  return [{ ...alone, code: "overdue", severity: "warning", since, count, text, command }];
}

function processStalled(situation: Situation): Found[] {
  const { reports, living, now } = situation;
  return reports.flatMap((report): Found[] => {
    const { host, pid, at, hasEnded, news, since: began } = report;
    const name = `${pid} on ${plain(host)}`;
    const stalled = (since: number, text: string): Found[] => [
      { ...alone, code: "process_stalled", severity: "warning", reason: name, since, text },
    ];
    const followed = (one: Report): boolean =>
      one.host === host && one.pid === pid && one.since > began && one.since >= at;
    const isSilent = !hasEnded && !living.includes(report) && situation.isSince(at, hourMs);
    if (isSilent && !reports.some(followed)) {
      const silent = duration(now - at);
      return stalled(
        at,
        `Process ${name} has been silent for ${silent}. It stands still, or has ended without a word`,
      );
    }
    const { stoodStill } = news;
    if (stoodStill === null || !situation.isSince(stoodStill.at, 10 * minuteMs)) return [];
    const { at: goneOnAt, ms } = stoodStill;
    return stalled(
      goneOnAt - ms,
      `Process ${name} stood still for ${duration(ms)}, until ${duration(now - goneOnAt)} ago. Look for synchronous work in handlers, or a starved machine`,
    );
  });
}

/** Text of others, as people may see it; an error of the app without the paths of addresses, which may be secrets. */
function shown(text: string): string {
  return plain(redactAddresses(text.slice(0, 300)));
}

function plain(text: string): string {
  return printable(text.slice(0, 300));
}
