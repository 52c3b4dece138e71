import { type Problem, problemsUrl, titleOf } from "../health/problem.ts";
import type { ProcessReport } from "../health/situation.ts";
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

/** The alert of a problem that is over, by what the processes tell. */
export function over(
  receiver: string,
  told: Told,
  reports: readonly ProcessReport[],
  now: number,
  wallOffset: number,
): Alert {
  const { reason, since, count } = told;
  const deleted = deletedSince(told, reports);
  const how = deleted > 0 ? "deleted" : "resolved";
  const what =
    deleted > 0
      ? `${counted(deleted, "parked delivery was", "parked deliveries were")} deleted at the end of the retention, or to make room`
      : endOf[told.code].replace("REASON", reason ?? "");
  const title = `${receiver}: ${how} after ${inWords(now - since)}: ${what}`;
  return {
    ...told,
    ...{ state: "resolved", receiver, title, text: `${title}.`, command: null, url: problemsUrl },
    since: new Date(since + wallOffset),
    count: deleted > 0 ? deleted : count === null ? null : 0,
  };
}

function deletedSince({ code, reason, since }: Told, reports: readonly ProcessReport[]): number {
  const isMeant = (one: string): boolean =>
    code === "parked_expiring" ? one !== "unsigned" : code === "parked" && one === reason;
  return reports
    .flatMap(({ news }) => Object.entries(news.deleted))
    .filter(([one, [at]]) => isMeant(one) && at >= since)
    .reduce((sum, [, [, count]]) => sum + count, 0);
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
