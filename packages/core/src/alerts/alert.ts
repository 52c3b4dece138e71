import { type Problem, problemsUrl } from "../health/problem.ts";
import { sumOf } from "../lib/add-counts.ts";
import { counted, inWords } from "../lib/text/in-words.ts";
import type { Watched } from "../observe/instrumentation.ts";

/** A message for the person who looks after a receiver: a problem that has begun, or is over. Nothing in it is secret. */
export interface Alert extends Problem {
  /** `firing` at the beginning, `resolved` once it is over. */
  readonly state: "firing" | "resolved";
  /** The name of the receiver. */
  readonly receiver: string;
  /** The first sentence of `text`, for a subject. */
  readonly title: string;
}

/** A problem that was told, as it is kept. */
export interface Told extends Pick<Alert, "code" | "severity" | "reason" | "count"> {
  /** By lived time. */
  readonly since: number;
  /** As {@link deletedIn} was then. */
  readonly deleted: number;
}

/** The alert of a problem that has begun; `redact` removes what may be secret in errors that it quotes. */
export function firing(
  receiver: string,
  problem: Problem,
  redact: (text: string) => string,
): Alert {
  const text = `${receiver}: ${redact(problem.text)}`;
  const look = problem.command === null ? "" : ` Look: ${problem.command}`;
  return { ...problem, state: "firing", receiver, title: firstSentenceOf(text), text: text + look };
}

function firstSentenceOf(text: string): string {
  const end = text.search(/\.( |$)/);
  return end < 0 ? text : text.slice(0, end);
}

/** The alert of a problem that is over; `ever` is as {@link deletedIn} is now. */
export function over(
  { name, clock, lookout }: Pick<Watched, "name" | "clock" | "lookout">,
  { deleted: before, ...told }: Told,
  ever: number,
): Alert {
  const { code, reason, since, count } = told;
  // A person may have discarded those that were not announced, too.
  const most = (code === "parked_expiring" ? count : null) ?? Number.POSITIVE_INFINITY;
  const deleted = Math.max(0, Math.min(ever - before, most));
  const what =
    deleted > 0
      ? `${counted(deleted, "parked delivery was", "parked deliveries were")} deleted at the end of the retention, to make room, or by a person`
      : endOf[code].replace("REASON", reason ?? "");
  const how = deleted > 0 ? "deleted" : "resolved";
  const title = `${name}: ${how} after ${inWords(clock.now() - since)}: ${what}`;
  return {
    ...told,
    state: "resolved",
    receiver: name,
    title,
    text: `${title}.`,
    command: null,
    url: problemsUrl,
    since: new Date(since + lookout.wallOffset),
    count: deleted || (count === null ? null : 0),
  };
}

/** How many of what a problem is about were ever deleted: parked ones, by reason. */
export function deletedIn(
  { code, reason }: Pick<Problem, "code" | "reason">,
  deleted: Readonly<Record<string, number | undefined>> = {},
): number {
  if (code === "parked") return deleted[reason ?? ""] ?? 0;
  if (code !== "parked_expiring") return 0;
  const { unsigned: _, ...announced } = deleted;
  return sumOf(announced);
}

const endOf: Readonly<Record<Alert["code"], string>> = {
  inbox_fails: "the inbox stores again",
  key_refused: "the service accepts the API key",
  no_verdicts: "the service gives verdicts, or nothing waits for one",
  all_rejected: "a signature was valid",
  lost: "nothing was turned away in the last hour",
  no_signature: "a signed notification was valid, or no unsigned one is left",
  handlers_failing: "no delivery waits for another attempt: each was handled, or is parked",
  behind: "nothing is behind",
  parked: "no delivery is parked as REASON any more",
  parked_expiring: "no parked delivery is about to be deleted",
  overdue: "no report is overdue",
  process_stalled: "process REASON goes on, has ended, or is gone for an hour",
};
