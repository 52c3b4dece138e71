import { judges } from "./judges.ts";
import { problemKey, problemKinds } from "./problem.ts";
import { type FoundProblem, type Knowledge, type Situation, situationAt } from "./situation.ts";

/** The problems of a receiver at `now`, worst first. */
export function problemsOf(known: Knowledge, now: number): readonly FoundProblem[] {
  const situation = situationAt(now, known);
  const found = judges.flatMap((judge) => judge(situation));
  const shown = found.filter(({ code }) => !found.some((one) => hides(one.code, code)));
  const opened = openedIn(situation);
  return shown
    .map((problem) => ({
      ...problem,
      since: Math.min(problem.since, opened(problemKey(problem))),
      text: problem.text.replace(/\.?$/, "."),
    }))
    .sort((one, other) => rankOf(one) - rankOf(other));
}

function rankOf({ code, severity }: FoundProblem): number {
  return problemKinds.indexOf(code) + (severity === "critical" ? 0 : problemKinds.length);
}

function hides(shown: FoundProblem["code"], other: FoundProblem["code"]): boolean {
  return shown === "key_refused" && (other === "no_verdicts" || other === "behind");
}

/** When a problem began, as processes that live have seen it: one that begins takes it from those that have ended. */
function openedIn({ living, reports }: Situation): (key: string) => number {
  const seen = living.filter(({ news }) => news.open !== null);
  const believed = seen.length > 0 ? seen : reports;
  return (key) => Math.min(...believed.map(({ news }) => news.open?.[key] ?? Infinity));
}
