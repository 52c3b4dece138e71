// Stands in for fast-check where evidence is collected, and counts the inputs that property tests try.
import { createRequire } from "node:module";
import { evidence } from "../evidence.ts";

// The module itself: an import would lead back here.
const real = createRequire(import.meta.url)("fast-check") as typeof import("fast-check");
const fc: typeof real.default = real.default;

fc.configureGlobal({
  reporter(details) {
    evidence("inputs", { inputs: details.numRuns }, { counterexamples: Number(details.failed) });
    const message = fc.defaultReportMessage(details);
    if (message !== undefined) throw new Error(message, { cause: details.errorInstance });
  },
});

export default fc;
