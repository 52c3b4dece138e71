import { judges } from "./judges.ts";
import { problemKey, problemKinds } from "./problem.ts";
import { type FoundProblem, type Knowledge, situationAt } from "./situation.ts";

/** The problems of a receiver at `now`, worst first. */
export function problemsOf(known: Knowledge, now: number): readonly FoundProblem[] {
  const situation = situationAt(now, known);
  const found = judges.flatMap((judge) => judge(situation));
  const isRefused = found.some(({ code }) => code === "key_refused");
  const hidden = isRefused ? ["no_verdicts", "behind"] : [];
  // A process that begins takes from those that have ended when a problem began.
  const seen = situation.living.filter(({ news }) => news.open !== null);
  const believed = seen.length > 0 ? seen : situation.reports;
  const openedAt = (key: string): number[] =>
    believed.flatMap(({ news }) => news.open?.[key] ?? []);
  return found
    .filter(({ code }) => !hidden.includes(code))
    .map((problem) => ({
      ...problem,
      since: Math.min(problem.since, ...openedAt(problemKey(problem))),
      text: problem.text.replace(/\.?$/, "."),
    }))
    .sort((one, other) => rankOf(one) - rankOf(other));
}

function rankOf({ code, severity }: FoundProblem): number {
  return problemKinds.indexOf(code) + (severity === "critical" ? 0 : problemKinds.length);
}
