/** All kinds of problems, those first that are shown first among equally severe ones. */
export const problemKinds = [
  "inbox_fails",
  "key_refused",
  "no_verdicts",
  "all_rejected",
  "lost",
  "no_signature",
  "handlers_failing",
  "behind",
  "parked",
  "parked_expiring",
  "overdue",
  "process_stalled",
] as const;

/** The kinds of problems. */
export type ProblemKind = (typeof problemKinds)[number];

/** Something that is wrong with a receiver, or needs a person. */
export interface Problem {
  readonly code: ProblemKind;
  /** `critical`: notifications are or will be lost. A stranger alone can cause a warning. */
  readonly severity: "critical" | "warning";
  /** When it began. */
  readonly since: Date;
  /** How many deliveries, notifications or requests it concerns; null where nothing is counted. */
  readonly count: number | null;
  /** The reason of parked deliveries, or the process that stands still; null for the others. */
  readonly reason: string | null;
  /** The problem in its first sentence, and the way out. Errors in it are untrusted text. */
  readonly text: string;
  /** The command that shows it. */
  readonly command: string | null;
  /** Where it is explained. */
  readonly url: string;
}

/** A problem by lived time; its command is one of the program `reporthook`. */
export interface FoundProblem extends Omit<Problem, "since" | "url"> {
  readonly since: number;
}

/** Names a problem among all of a receiver. */
export function problemKey({ code, reason }: Pick<Problem, "code" | "reason">): string {
  return reason === null ? code : `${code} ${reason}`;
}

/** A command of the program `reporthook` about a receiver, as it is typed. */
export function typed(command: string, receiver: string): string {
  return `npx reporthook ${command}${receiver === "reports" ? "" : ` --receiver ${receiver}`}`;
}

/** Where the problems are explained. */
export const problemsUrl = "https://www.npmjs.com/package/@reporthook/core#problems";
