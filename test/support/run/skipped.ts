import type { Reporter, TestModule } from "vitest/node";

const inName = /\((?:skipped: |needs )([^)]*)\)/;

/** Ends a run with one line: how many tests were skipped, and for which reasons. */
export class Skipped implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = new Map<string, number>();
    for (const module of modules) {
      for (const test of module.children.allTests("skipped")) {
        const result = test.result();
        const note = result.state === "skipped" ? result.note : undefined;
        const reason = note ?? inName.exec(test.fullName)?.[1] ?? "not chosen";
        counts.set(reason, (counts.get(reason) ?? 0) + 1);
      }
    }
    const reasons = [...counts].map(([reason, count]) => `${count} (${reason})`);
    console.log(`skipped: ${reasons.length === 0 ? "nothing" : reasons.join(", ")}`);
  }
}
