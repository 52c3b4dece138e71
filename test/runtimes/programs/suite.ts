/** The results of one suite's cases; printed as one line of JSON. */
export interface SuiteReport {
  readonly passed: number;
  /** Names with their reasons. */
  readonly skipped: readonly string[];
  /** Names with the errors. */
  readonly failed: readonly string[];
}

/** A case of either contract. */
export interface Case {
  readonly name: string;
  readonly skip?: string | undefined;
  readonly skipped?: string;
  readonly run: () => Promise<void>;
}

/** Runs the cases one after another. */
export async function runSuite(cases: readonly Case[]): Promise<SuiteReport> {
  const skipped: string[] = [];
  const failed: string[] = [];
  let passed = 0;
  for (const one of cases) {
    if (one.skip !== undefined || one.skipped !== undefined) {
      skipped.push(one.name);
      continue;
    }
    try {
      await one.run();
      passed++;
    } catch (error) {
      failed.push(`${one.name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  return { passed, skipped, failed };
}
