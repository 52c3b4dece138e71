import { type Problem, problemsUrl, titleOf } from "../health/problem.ts";
import type { ProcessReport } from "../health/situation.ts";
import type { LoggedAct } from "../inbox/acts/act-log.ts";
import { counted, inWords } from "../lib/text/in-words.ts";

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
  const said = redact(problem.text);
  const look = problem.command === null ? "" : ` Look: ${problem.command}`;
  const title = `${receiver}: ${titleOf({ text: said })}`;
  return { ...problem, state: "firing", receiver, title, text: `${receiver}: ${said}${look}` };
}

/** The circumstances of the end of a problem: what the processes tell, and what people did. */
export interface Ending {
  readonly reports: readonly ProcessReport[];
  readonly acts: readonly LoggedAct[];
  readonly now: number;
  readonly wallOffset: number;
}

/** The alert of a problem that is over. */
export function over(receiver: string, told: Told, ending: Ending): Alert {
  const { code, reason, since, count } = told;
  const { deleted, unknown } = deletedSince(told, ending);
  const what =
    deleted > 0
      ? `${counted(deleted, "parked delivery was", "parked deliveries were")} deleted at the end of the retention, to make room, or by a person`
      : endOf[code].replace("REASON", reason ?? "");
  const how = deleted > 0 ? "deleted" : "resolved";
  const also = unknown > 0 ? `; ${unknown} of any reason were discarded since` : "";
  const title = `${receiver}: ${how} after ${inWords(ending.now - since)}: ${what}${also}`;
  return {
    ...told,
    ...{ state: "resolved", receiver, title, text: `${title}.`, command: null, url: problemsUrl },
    since: new Date(since + ending.wallOffset),
    count: deleted || (count === null ? null : 0),
  };
}

/** How many were deleted, and how many a person discarded of which nobody knows any more whether they are meant. */
function deletedSince(
  { code, reason, since }: Told,
  { reports, acts, wallOffset }: Ending,
): { readonly deleted: number; readonly unknown: number } {
  const isMeant = (one: string): boolean =>
    code === "parked_expiring" ? one !== "unsigned" : code === "parked" && one === reason;
  const retained = reports
    .flatMap(({ news }) => Object.entries(news.deleted))
    .map(([one, [at, count]]) => ({ one, at, count }));
  const discarded = acts
    .filter(({ act }) => act === "discard" && code.startsWith("parked"))
    .map(({ selection, at, count }) => ({
      one: code === "parked" && selection.reason,
      ...{ at: at.getTime() - wallOffset, count },
    }));
  let [deleted, unknown] = [0, 0];
  for (const { one, count } of [...retained, ...discarded].filter(({ at }) => at >= since)) {
    if (!one) unknown += count;
    else if (isMeant(one)) deleted += count;
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
  handlers_failing: "no delivery waits because of a failed handler",
  behind: "nothing is behind",
  parked: "no delivery is parked as REASON any more",
  parked_expiring: "no parked delivery is about to be deleted",
  overdue: "no report is overdue",
  process_stalled: "process REASON goes on, has ended, or is gone for an hour",
};
