import type { Attempt, Entry, EntryDetails } from "@reporthook/core";
import { inWords, isAttempt, isKeyRefused } from "@reporthook/core/store";
import { parsed } from "../lib/exchange.ts";
import { type Column, hang, milliseconds, pairs, type Style } from "../lib/layout.ts";
import type { Terminal } from "../lib/terminal.ts";

const styles: Readonly<Record<Entry["state"], Style>> = {
  received: "cyan",
  verified: "cyan",
  handled: "green",
  held: "yellow",
  rejected: "dim",
  dead: "red",
};

/** The columns of a list of entries. */
export const entryColumns: readonly Column<Entry>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "AGE", of: ({ receivedAt }) => inWords(Date.now() - receivedAt.getTime()) },
  { title: "STATE", of: ({ state }) => state, style: ({ state }) => styles[state] },
  { title: "EVENT", of: ({ type }) => type ?? "", shrinks: "end" },
  { title: "REPORT", of: ({ reportId }) => reportId ?? "", shrinks: "beginning" },
  { title: "REQUEST", of: ({ requestId }) => requestId ?? "", shrinks: "beginning" },
  { title: "WHY", of: whyOf, shrinks: "beginning" },
];

/** Formats one entry in full. */
export function entryLines(details: EntryDetails, terminal: Terminal): string[] {
  const { reason, body, history, receivedAt, nextAttemptAt, headers } = details;
  const facts: (readonly [string, string | null])[] = [
    ["id", details.id],
    ["state", details.state],
    ["error", headlineOf(details.lastError)],
    ["reason", reason && `${reason.code}: ${reason.message}`],
    ["event", details.type],
    ["report", details.reportId],
    ["request", details.requestId],
    ["context", details.context === null ? null : JSON.stringify(details.context)],
    ["path", details.url || null],
    ["received", receivedAt.toISOString()],
    ["verdict", details.verification],
    ["attempts", String(details.attempts)],
    ["next", nextAttemptAt?.toISOString() ?? null],
    ...Object.entries(headers),
  ];
  const attempts = attemptLines(history, terminal);
  const heading = (text: string): string[] => ["", terminal.paint("bold", text)];
  const trace = details.lastError?.split("\n") ?? [];
  // Indented as it was; other white space may steer the terminal.
  const traceLines = trace.flatMap((line) =>
    hang(" ".repeat(line.search(/[^ ]|$/)), line.trim(), terminal),
  );
  const pretty = prettyOf(body ?? "") ?? body;
  return [
    ...pairs(facts, terminal),
    ...(trace.length > 1 ? [...heading("Last error"), ...traceLines] : []),
    ...(attempts.length > 0 ? [...heading("Attempts"), ...attempts] : []),
    ...heading("Body"),
    pretty === null ? "no longer kept" : terminal.clean(pretty),
  ];
}

/** A body formatted, if that changes only white space; null if it does more, or JSON.stringify can't nest as deep. */
function prettyOf(body: string): string | null {
  try {
    const value = parsed(body);
    return JSON.stringify(value) === body ? JSON.stringify(value, null, 2) : null;
  } catch {
    return null;
  }
}

/** The attempts and the acts of people, with attempts alike in a row on one line: an outage may leave twenty. */
function attemptLines(history: EntryDetails["history"], terminal: Terminal): string[] {
  const runs: { readonly first: Item; readonly kind: string | null; last: Item; count: number }[] =
    [];
  for (const item of history) {
    const kind = isAttempt(item) ? `${item.stage} ${item.outcome} ${headlineOf(item.error)}` : null;
    const run = runs.at(-1);
    if (run === undefined || kind === null || run.kind !== kind) {
      runs.push({ first: item, kind, last: item, count: 1 });
    } else {
      run.last = item;
      run.count++;
    }
  }
  return runs.flatMap(({ first, last, count }) => {
    const others = count === 1 ? "" : ` (${count} alike until ${last.at.toISOString()})`;
    const lead = `${first.at.toISOString()}  ${isAttempt(first) ? first.stage : first.act}  `;
    const text = isAttempt(first) ? attemptText(first) : `by ${first.by ?? "a person"}`;
    return hang(lead, `${text}${others}`, terminal);
  });
}

type Item = EntryDetails["history"][number];

function attemptText({ stage, ms, outcome, error }: Attempt): string {
  const took = milliseconds(ms);
  const failed = stage === "verify" ? "no verdict after" : "failed in";
  const what = outcome === "retry" ? `${failed} ${took}, retried` : `${outcome} in ${took}`;
  return error === null ? what : `${what}: ${error.split("\n", 1)}`;
}

/** The explanation of an entry's state, with the error first. */
function whyOf(entry: Entry): string {
  const { reason, state, attempts, nextAttemptAt } = entry;
  const error = headlineOf(entry.lastError);
  if (reason !== null) return error === null ? reason.code : `${error} (${reason.code})`;
  if (state === "handled") return error ?? "";
  const ms = nextAttemptAt === null ? null : nextAttemptAt.getTime() - Date.now();
  const next = ms === null ? "" : ms > 0 ? `in ${inWords(ms)}` : `due for ${inWords(-ms)}`;
  const again = next.startsWith("in") ? "asked again " : "";
  if (isKeyRefused(entry)) return `API key refused${next && `, ${again}${next}`}`;
  if (next === "" || attempts === 0) return "";
  const attempt = `attempt ${attempts + 1} ${next}`;
  return error === null ? attempt : `${attempt}: ${error}`;
}

/** The first line of an error, without a meaningless name. */
function headlineOf(error: string | null): string | null {
  return error?.replace(/^(Error|DoNotRetry): /, "").split("\n")[0] ?? null;
}
