import { type Problem, problemsUrl, titleOf } from "../health/problem.ts";
import type { CountedAct } from "../inbox/acts/act-log.ts";
import { counted, inWords } from "../lib/text/in-words.ts";
import { hourMs } from "../lib/time/units.ts";
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

/** A problem that was told, as it is kept: `since` by lived time. */
export interface Told extends Pick<Alert, "code" | "severity" | "reason" | "count"> {
  readonly since: number;
}

/** The alert of a problem that has begun; `redact` removes what may be secret in errors that it quotes. */
export function firing(
  receiver: string,
  problem: Problem,
  redact: (text: string) => string,
): Alert {
  const text = `${receiver}: ${redact(problem.text)}`;
  const look = problem.command === null ? "" : ` Look: ${problem.command}`;
  return { ...problem, state: "firing", receiver, title: titleOf({ text }), text: text + look };
}

/** The alert of a problem that is over; `acts` are the last ones of people. */
export function over(
  { name, clock, lookout }: Pick<Watched, "name" | "clock" | "lookout">,
  told: Told,
  acts: readonly CountedAct[],
): Alert {
  const { code, reason, since, count } = told;
  const deleted = deletedSince(told, lookout, acts, clock.now());
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

/** How many of those that a problem was about were deleted since. */
function deletedSince(
  { code, reason, since, count: most }: Told,
  { reports, wallOffset }: Watched["lookout"],
  acts: readonly CountedAct[],
  now: number,
): number {
  let deleted = 0;
  const add = (one: string, at: number, count: number): void => {
    const isMeant = code === "parked" ? one === reason : one !== "unsigned";
    if (isMeant && at >= since) deleted += count;
  };
  if (!code.startsWith("parked")) return 0;
  for (const report of reports.filter((one) => now - one.at <= hourMs)) {
    for (const [one, [at, count]] of Object.entries(report.deleted)) add(one, at, count);
  }
  for (const { act, at, counts } of acts) {
    if (act !== "discard") continue;
    for (const [one, count] of Object.entries(counts)) add(one, at.getTime() - wallOffset, count);
  }
  // A person may have discarded those that were not announced, too.
  return code === "parked" ? deleted : Math.min(deleted, most ?? deleted);
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
