/** How long and how often to measure. */
export interface Effort {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Multiplies fixed numbers of deliveries. */
  readonly scale: number;
}

/** What a benchmark is given. */
export interface Context extends Effort {
  /** A line of progress. */
  progress(line: string): void;
}

/** What a benchmark found. */
export interface Result {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes?: readonly string[];
  /** Every measurement as it was taken. */
  readonly raw: unknown;
}

/** One benchmark: one file in `benchmarks/`. */
export interface Benchmark {
  readonly name: string;
  readonly title: string;
  /** How it is measured, for the report. */
  readonly about: string;
  /** Rejects {@link Skipped} with the reason when it can't run here. */
  run(context: Context): Promise<Result>;
}

/** Why a benchmark could not run here. */
export class Skipped extends Error {
  override readonly name: string = "Skipped";
}
