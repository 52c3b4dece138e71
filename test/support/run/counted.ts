import type { Reporter, TestModule } from "vitest/node";
import { evidence } from "../evidence.ts";

/** Counts the tests of a run. */
export class Counted implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = (state: "passed" | "skipped" | "failed") =>
      modules.reduce((sum, { children }) => sum + [...children.allTests(state)].length, 0);
    const did = { passed: count("passed"), skipped: count("skipped") };
    evidence("tests", did, { failed: count("failed") });
  }
}
