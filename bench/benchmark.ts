import type { EngineName } from "./inboxes.ts";

/** How long and how often to measure. */
export interface Effort {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Multiplies fixed numbers of deliveries. */
  readonly scale: number;
}

/** The display of a run's progress. */
export interface Progress {
  /** Shows the step that begins now. */
  doing(what: string): void;
  /** Shows how far that step is. */
  detail(text: string): void;
  /** Shows the step's result as a line that stays. */
  progress(line: string): void;
}

/** The conditions and tools of a measurement. */
export interface Context extends Effort, Progress {
  /** The checkout whose packages are measured; this one when left out. */
  readonly build?: string | undefined;
  /** Has `end` called when the group is measured. */
  atEnd(end: () => Promise<void>): void;
}

/** The figures of one measurement, by name. */
export type Sample = Readonly<Record<string, number>>;

/** A thing to measure. */
export interface Subject {
  readonly label: string;
  /** None of our packages is in it, so it is the same in every build. */
  readonly isForeign?: boolean;
  /** The label of what it is compared with; the first of its group when left out. */
  readonly base?: string;
  /** The text of that comparison's row in the report's first table. */
  readonly row?: string;
  measure(context: Context): Promise<Sample>;
}

/** Subjects that are measured in turns. */
export interface Group {
  readonly name: string;
  readonly subjects: readonly Subject[];
  /** Runs while the group is measured, empty at first. */
  readonly engine?: EngineName;
  /** Measures the subjects of a round at the same time; otherwise they follow each other. */
  readonly atOnce?: (runs: readonly Run[]) => Promise<Sample[]>;
}

/** A subject about to be measured. */
export interface Run {
  readonly subject: Subject;
  readonly context: Context;
}

/** A column of a table. */
export interface Figure {
  readonly column: string;
  readonly digits: number;
  of(sample: Sample): number;
  /** Also shown as a ratio. */
  readonly isCompared?: boolean;
  /** Whose ratio the report's first table shows. */
  readonly isRow?: boolean;
}

/** A question, and how it is answered. */
export interface Benchmark {
  readonly name: string;
  readonly title: string;
  /** How it is measured, for the report. */
  readonly about: string;
  readonly figures: readonly Figure[];
  /** Not more rounds than that, where one takes minutes. */
  readonly maxRounds?: number;
  readonly groups: readonly Group[];
}

/** Shows what was measured under this name. */
export function figure(
  column: string,
  key: string,
  digits: number,
  options: Pick<Figure, "isCompared" | "isRow"> = {},
): Figure {
  return { column, digits, of: (sample) => sample[key] ?? Number.NaN, ...options };
}

/** Why a benchmark could not run here. */
export class Skipped extends Error {
  override readonly name: string = "Skipped";
}

/** Somebody ended the run. */
export class Stopped extends Error {
  override readonly name: string = "Stopped";
}
