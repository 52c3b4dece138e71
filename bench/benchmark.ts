/** How long and how often to measure. */
export interface Effort {
  readonly rounds: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
  /** Multiplies fixed numbers of deliveries. */
  readonly scale: number;
  /** Storing what is to wait takes no longer, where a benchmark has more and more wait. */
  readonly fillMs: number;
}

/** What is shown while it runs. */
export interface Progress {
  /** What is being done from now on. */
  doing(what: string): void;
  /** How far that is. */
  detail(text: string): void;
  /** What came of it: a line that stays. */
  progress(line: string): void;
}

/** What a benchmark is given. */
export interface Context extends Effort, Progress {}

/** What a benchmark found. */
export interface Result {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes?: readonly string[];
  /** What is missing, and why. */
  readonly missing?: readonly string[];
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

/** Somebody ended the run. */
export class Stopped extends Error {
  override readonly name: string = "Stopped";
}

/** Why something was not measured, in one line. Unless it can't run here, the whole run has failed. */
export function whyNot(error: unknown): string {
  if (!(error instanceof Skipped)) process.exitCode = 1;
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split("\n", 1)[0] ?? "";
}

/** Measures one part after the other; resolves to what is missing, because a part that fails takes no other with it. */
export async function inParts<Part>(
  parts: readonly Part[],
  nameOf: (part: Part) => string,
  measure: (part: Part) => Promise<void>,
): Promise<string[]> {
  const missing: string[] = [];
  for (const part of parts) {
    try {
      await measure(part);
    } catch (error) {
      missing.push(`${nameOf(part)}: ${whyNot(error)}`);
      if (error instanceof Stopped) break;
    }
  }
  return missing;
}
