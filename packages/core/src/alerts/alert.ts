import { type Problem, problemsUrl, titleOf } from "../health/problem.ts";
import type { LoggedAct } from "../inbox/acts/act-log.ts";
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
  acts: readonly LoggedAct[],
): Alert {
  const { code, reason, since, count } = told;
  const { deleted, unknown } = deletedSince(told, lookout, acts);
  const what =
    deleted > 0
      ? `${counted(deleted, "parked delivery was", "parked deliveries were")} deleted at the end of the retention, to make room, or by a person`
      : endOf[code].replace("REASON", reason ?? "");
  const how = deleted > 0 ? "deleted" : "resolved";
  const also = unknown > 0 ? `; ${unknown} of any reason were discarded since` : "";
  const title = `${name}: ${how} after ${inWords(clock.now() - since)}: ${what}${also}`;
  return {
    ...told,
    ...{ state: "resolved", receiver: name, title, text: `${title}.` },
    ...{ command: null, url: problemsUrl, since: new Date(since + lookout.wallOffset) },
    count: deleted || (count === null ? null : 0),
  };
}

/** How many were deleted, and how many a person discarded of which nobody knows any more whether they are meant. */
function deletedSince(
  { code, reason, since }: Told,
  { reports, wallOffset }: Watched["lookout"],
  acts: readonly LoggedAct[],
): { readonly deleted: number; readonly unknown: number } {
  let [deleted, unknown] = [0, 0];
  const add = (one: string | false | undefined, at: number, count: number): void => {
    if (at < since) return;
    if (!one) unknown += count;
    else if (code === "parked" ? one === reason : one !== "unsigned") deleted += count;
  };
  if (!code.startsWith("parked")) return { deleted, unknown };
  for (const report of reports) {
    for (const [one, [at, count]] of Object.entries(report.deleted)) add(one, at, count);
  }
  for (const { act, selection, at, count } of acts) {
    if (act !== "discard") continue;
    add(code === "parked" && selection.reason, at.getTime() - wallOffset, count);
  }
  return { deleted, unknown };
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
