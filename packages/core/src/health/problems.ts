import { signatureLifetimeMs } from "../inbox/delivery.ts";
import { counted, inWords } from "../lib/text/in-words.ts";
import { printable } from "../lib/text/printable.ts";
import { redactAddresses } from "../lib/text/redact.ts";
import { dayMs, hourMs, minuteMs } from "../lib/time/units.ts";
import { type FoundProblem, type ProblemKind, problemKey, typed } from "./problem.ts";
import { isLastWord, latestOf, type ProcessReport, silenceMs } from "./process-report.ts";
import type { Situation } from "./situation.ts";

/** The judges, each of one kind of problem, in the order in which equally severe ones are shown. */
const judges: readonly ((situation: Situation) => readonly FoundProblem[])[] = [
  inboxFails,
  keyRefused,
  noVerdicts,
  allRejected,
  lost,
  noSignature,
  handlersFailing,
  behind,
  parked,
  parkedExpiring,
  overdue,
  processStalled,
];

/** The keys of problems that are not shown beside another one. */
const hiddenBeside: Partial<Record<ProblemKind, readonly string[]>> = {
  key_refused: ["no_verdicts", "behind"],
  no_signature: ["parked unsigned"],
};

/** The problems of a receiver, worst first. */
export function problemsOf(situation: Situation): readonly FoundProblem[] {
  const { living, reports } = situation;
  const found = judges.flatMap((judge) => judge(situation));
  const hidden = found.flatMap(({ code }) => hiddenBeside[code] ?? []);
  // A process that begins takes from those that have ended when a problem began.
  const seen = living.filter(({ open }) => open);
  const knowing = seen.length > 0 ? seen : reports;
  const openedAt = (key: string): number[] => knowing.flatMap(({ open }) => open?.[key] ?? []);
  return found
    .filter((problem) => !hidden.includes(problemKey(problem)))
    .map((problem) => ({
      ...problem,
      since: Math.min(problem.since, ...openedAt(problemKey(problem))),
      text: problem.text.replace(/\.?$/, "."),
    }))
    .sort((one, other) => one.severity.localeCompare(other.severity));
}

/** The processes that are believed about the service: of those that are gone, the ones that had the last word. */
function believedIn({ living, reports }: Situation): ProcessReport[] {
  const judgedAt = latestOf(reports.map((report) => report.judgedAt));
  return reports.filter((report) => living.includes(report) || isLastWord(report, judgedAt));
}

/** Makes a problem of its kind and what is to be said of it. */
function found(
  code: FoundProblem["code"],
  severity: FoundProblem["severity"],
  rest: Pick<FoundProblem, "since" | "text"> & Partial<FoundProblem>,
): FoundProblem[] {
  return [{ code, severity, count: null, reason: null, command: null, ...rest }];
}

function inboxFails({ living, fails: own }: Situation): FoundProblem[] {
  const all = [own, ...living.map(({ fails }) => fails)].flatMap((one) => one ?? []);
  const [first] = all.sort((one, other) => one.since - other.since);
  if (first === undefined) return [];
  const text = `The inbox can't store: notifications are answered 503. ${plain(first.error, 500)}`;
  return found("inbox_fails", "critical", { since: first.since, text });
}

function keyRefused(situation: Situation): FoundProblem[] {
  const { facts, now } = situation;
  const refused = believedIn(situation).flatMap(({ refusedSince }) => refusedSince ?? []);
  if (refused.length === 0) return [];
  const since = Math.min(...refused);
  const count = facts?.counts.received ?? null;
  const oldest = facts?.oldestUnverified ?? null;
  const leftMs = (oldest ?? now) + signatureLifetimeMs - now;
  const left = leftMs > 0 ? `expires in ${inWords(leftMs)}` : "has expired";
  const expires = oldest === null ? "" : `, the oldest signature ${left}`;
  const wait = count ? ` ${waits(count)}${expires}.` : "";
  const text = `The service refuses the API key, for ${inWords(now - since)} now.${wait} Set the right key: it is asked again by itself, and what is over 5 minutes old by then is held, unless the option expired says otherwise`;
  const command = "inbox list --state received";
  return found("key_refused", "critical", { since, count, text, command });
}

function noVerdicts(situation: Situation): FoundProblem[] {
  const { facts, now, reports } = situation;
  const oldest = facts?.oldestUnverified ?? null;
  const judgedAt = latestOf(reports.map((report) => report.judgedAt));
  const vain = believedIn(situation).flatMap(({ vain }) => vain ?? []);
  if (oldest === null || vain.length === 0) return [];
  if (now - Math.max(oldest, judgedAt) < minuteMs) return [];
  const ids = new Set(vain.flatMap((one) => one.ids));
  const isTheirs = vain.every(({ isSingle }) => isSingle) && ids.size < 5;
  const severity = isTheirs && now - judgedAt < dayMs ? "warning" : "critical";
  const since = Math.min(...vain.map((one) => one.since));
  const count = facts?.counts.received ?? null;
  const [last] = vain.map(({ error }) => plain(redactAddresses(error ?? "")));
  const text = `The service gives no verdict, for ${inWords(now - since)} now. ${waits(count ?? 0)}; what is over 5 minutes old by the verdict is held, unless the option expired says otherwise, and each after an hour. Check baseUrl, and whether the service is reachable. Last error: ${last}`;
  const command = "inbox list --state received";
  return found("no_verdicts", severity, { since, count, text, command });
}

function allRejected({ reports, everValid, receiver }: Situation): FoundProblem[] {
  const validAt = latestOf(reports.map((report) => report.validAt));
  // A valid verdict of another process has ended a run, too.
  const runs = reports
    .flatMap(({ invalid }) => invalid ?? [])
    .map((run) => ({ ...run, latest: run.latest.filter((at) => at >= validAt) }))
    .filter(({ latest }) => latest.length > 0);
  if (runs.flatMap(({ latest }) => latest).length < 5) return [];
  const counts = runs.map((run) => (run.since >= validAt ? run.count : run.latest.length));
  const count = counts.reduce((sum, one) => sum + one);
  const isCalled = runs.some(({ hasToken }) => hasToken);
  const since = Math.min(...runs.map((run) => Math.max(run.since, validAt)));
  const text = `The last ${count} verdicts were all "invalid"${isCalled ? ", some at callback URLs of ours" : ""}. If genuine notifications are among them, the API key belongs to another account, or baseUrl is wrong: set it right, then ask again with ${typed("inbox retry --state rejected", receiver)}`;
  const command = "inbox list --state rejected --newest-first";
  const severity = isCalled || !everValid ? "critical" : "warning";
  return found("all_rejected", severity, { since, count, text, command });
}

function lost({ reports, now }: Situation): FoundProblem[] {
  const all = reports.flatMap(({ lost }) => lost ?? []);
  const minutes = all
    .flatMap((one) => one.minutes)
    .filter(([minute]) => minute * minuteMs > now - hourMs);
  const certain = minutes.reduce((sum, [, some]) => sum + some, 0);
  const doubtful = minutes.reduce((sum, [, , some]) => sum + some, 0);
  if (certain + doubtful === 0) return [];
  const certainAt = Math.max(...all.map((one) => one.certainAt));
  const isFresh = certain > 0 && now - certainAt < 5 * minuteMs;
  const since = Math.min(...all.map((one) => one.since));
  const count = certain > 0 ? certain : doubtful;
  const notifications = counted(count, "notification was", "notifications were");
  const text =
    certain > 0
      ? `${notifications} turned away in the last hour: answered 503, or 408 or 413 at a callback URL of ours. The service documents no second try: they may be lost`
      : `${notifications} answered 408, 413 or 503 without a callback token in the last hour. Were they genuine, they are lost. Of a 413 see limits.bodyBytes, of a 408 limits.bodyMs; a 503 had no verdict`;
  return found("lost", isFresh ? "critical" : "warning", { since, count, text });
}

function noSignature({ facts, reports, everValid, now }: Situation): FoundProblem[] {
  if (everValid) return [];
  const held = facts?.parked.find(({ reason }) => reason === "unsigned");
  const came = reports
    .flatMap(({ unsigned }) => unsigned ?? [])
    .filter(({ at }) => held !== undefined || now - at < hourMs)
    .sort((one, other) => other.at - one.at);
  if (held === undefined && came.length === 0) return [];
  const since = Math.min(held?.since ?? Infinity, ...came.map((one) => one.since));
  const headers =
    came[0] === undefined ? "" : `. Headers that came: ${plain(came[0].headers.join(", "))}`;
  const text = `Notifications come without a signature, and none with one was ever valid here. The option signature may name the wrong header${headers}`;
  const command = "inbox list --reason unsigned";
  const count = held?.count ?? null;
  return found("no_signature", "warning", { since, count, text, command });
}

function handlersFailing({ facts, living, reports, now }: Situation): FoundProblem[] {
  const { count = 0, error = null } = facts?.failing ?? {};
  if (count === 0) return [];
  // The paths of addresses may be secrets.
  const most = error === null ? "" : ` Most frequent error: ${plain(redactAddresses(error))}`;
  const text = `${waits(count)} for another attempt because handlers failed.${most}`;
  const command = "inbox list --state verified";
  // Where no process runs, those that ran last know.
  const known = living.length > 0 ? living : reports;
  const since = Math.min(now, ...known.flatMap(({ failingSince }) => failingSince ?? []));
  return found("handlers_failing", "warning", { since, count, text, command });
}

function behind({ facts, living, now }: Situation): FoundProblem[] {
  const { oldestWaiting, oldestUnverified, counts } = facts ?? {};
  const waitedMs = now - (oldestWaiting ?? now);
  const unverifiedMs = now - (oldestUnverified ?? now);
  const judged = living.reduce((sum, report) => sum + report.judged, 0);
  const unverified = counts?.received ?? 0;
  // Of less than a minute, as if it went on like this; less than 10 s tell too little.
  const isSlow = judged > 0 && unverifiedMs >= 10_000;
  const perMinute = (judged * minuteMs) / Math.min(minuteMs, Math.max(1, unverifiedMs));
  const isBehind = (isSlow || unverifiedMs >= minuteMs) && unverified > 5 * perMinute;
  if (!isBehind && waitedMs <= 10 * minuteMs) return [];
  const count = unverified + (counts?.verified ?? 0);
  const down = living.length === 0 ? "no process gives a sign of life, start the app" : null;
  const text = isBehind
    ? `Verification is behind: ${waits(unverified)} for a verdict, and ${counted(judged, "was", "were")} judged in the last minute. Signatures expire after 5 minutes: ${down ?? (judged > 0 ? "raise concurrency.verify, or see why the service is slow" : "see why the service gives none")}`
    : `${waits(count)}, the oldest for ${inWords(waitedMs)}: ${down ?? "handlers are too slow or fail, or the service gives no verdict"}`;
  const since = now - Math.max(0, waitedMs - 10 * minuteMs, judged ? 0 : unverifiedMs - minuteMs);
  const state = isBehind || oldestUnverified === oldestWaiting ? "received" : "verified";
  const command = `inbox list --state ${state}`;
  return found("behind", "warning", { since, count, text, command });
}

function parked({ facts }: Situation): FoundProblem[] {
  return (facts?.parked ?? []).flatMap(({ reason, count, since }) => {
    const text = `${counted(count, "delivery is", "deliveries are")} parked as ${reason}. ${reason === "erased" ? "Discard" : "Release or discard"} what waits for a person`;
    const command = `inbox list --reason ${reason}`;
    return found("parked", "warning", { since, count, reason, text, command });
  });
}

function parkedExpiring({ facts, now }: Situation): FoundProblem[] {
  if (facts === null || facts.expiring === null) return [];
  const { count, since, deletedFrom } = facts.expiring;
  const text = `${counted(count, "parked delivery", "parked deliveries")} will be deleted, the first in ${inWords(deletedFrom - now)}. Release or discard before`;
  const command = "inbox list --state parked";
  return found("parked_expiring", "warning", { since, count, text, command });
}

function overdue({ overdue }: Situation): FoundProblem[] {
  if (overdue === null) return [];
  const text = `${counted(overdue.count, "report is", "reports are")} overdue: no final notification came, or none was valid. See what is parked, look the report up at the service, then settle it`;
  const command = "reports list --state overdue";
  return found("overdue", "warning", { ...overdue, text, command });
}

function processStalled({ reports, living, watchedSince, facts, now }: Situation): FoundProblem[] {
  return reports.flatMap((report): FoundProblem[] => {
    const { host, pid, at, hasEnded, stoodStill, since: began } = report;
    const name = `${pid} on ${plain(host)}`;
    const stalled = (since: number, text: string): FoundProblem[] =>
      found("process_stalled", "warning", { reason: name, since, text });
    const followed = (one: ProcessReport): boolean =>
      one.host === host && one.pid === pid && one.since > began && one.since >= at;
    // An inbox that takes nothing takes no signs of life.
    const isQuiet = !hasEnded && now - Math.max(at, watchedSince) >= silenceMs;
    const isSilent = facts !== null && isQuiet && now - at < hourMs;
    if (isSilent && !reports.some(followed)) {
      const text = `Process ${name} has been silent for ${inWords(now - at)}. If it stands still, end it; if it has ended without a word, see why: it is shown for an hour`;
      return stalled(at, text);
    }
    if (!stoodStill || !living.includes(report)) return [];
    if (now - stoodStill.at >= 10 * minuteMs) return [];
    const text = `Process ${name} stood still for ${inWords(stoodStill.ms)}, until ${inWords(now - stoodStill.at)} ago. Look for synchronous work in handlers, or a starved machine`;
    return stalled(stoodStill.at - stoodStill.ms, text);
  });
}

function waits(count: number): string {
  return counted(count, "delivery waits", "deliveries wait");
}

/** Text of others, as people may see it. */
function plain(text: string, length = 300): string {
  return printable(text.slice(0, length));
}
