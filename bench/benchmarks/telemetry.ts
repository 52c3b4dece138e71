import type { Benchmark } from "../benchmark.ts";
import { compare, cpu, generator } from "../compare.ts";
import type { Variant } from "../over-http.ts";

/** What OpenTelemetry costs where it is, and where it is not. */
export const telemetry: Benchmark = {
  name: "telemetry",
  title: "What OpenTelemetry costs",
  about:
    '`node:http` with the memory inbox, first acknowledged only, then verified and handled, too (as in `sustained`). What the others are compared with is a receiver without telemetry, as anybody has it who does not install `@reporthook/opentelemetry`; for "no seam" the few lines of core that ask whether there is telemetry are taken out when it is loaded, so that row says what these cost: nothing, where its ratio is as near to 1 as that of the same receiver measured again. With the SDK spans go through a batch processor with its defaults, which drops those that are too many for it, and metrics are collected each second; the exporters send nothing.',
  run: (context) =>
    compare(
      [group(false), group(true)],
      [
        { column: "requests/s", digits: 0, of: (s) => s.perSecond, compared: true },
        { ...cpu, compared: true },
        { column: "p99 ms", digits: 1, of: (s) => s.p99 },
        { column: "loop delay p99 ms", digits: 1, of: (s) => s.loopP99 },
        generator,
      ],
      context,
      { base: "without" },
    ),
};

function group(work: boolean): Variant[] {
  return (["none", "none again", "no seam", "no SDK", "SDK"] as const).map((telemetry) => ({
    ...{ host: "node:http", inbox: "memory", work, telemetry },
  }));
}
