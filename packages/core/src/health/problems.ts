import { judges } from "./judges.ts";
import { type FoundProblem, type ProblemKind, problemKey } from "./problem.ts";
import type { Situation } from "./situation.ts";

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
  const seen = living.filter(({ open }) => open !== null);
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
