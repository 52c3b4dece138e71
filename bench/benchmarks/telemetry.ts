import type { Benchmark, Group } from "../benchmark.ts";
import { figures, overHttp, type Variant } from "../http.ts";

const { perSecond, p99, loopDelay, cpu, generator } = figures;

/** What OpenTelemetry costs, and whose part it is. */
export const telemetry: Benchmark = {
  name: "telemetry",
  title: "What OpenTelemetry costs",
  about:
    "`node:http` with the memory inbox, acknowledged only, and verified and handled, too (as in `sustained`). An SDK with spans by hand is what it costs at least: empty spans, without attributes, links or metrics, one around the request and, where it works, one around authorize and one around the handler, as many as ours. What ours costs more is compared with that. Spans go through a batch processor with its defaults, which drops those that are too many for it, and metrics are collected each second; the exporters send nothing.",
  figures: [perSecond, { ...cpu, isCompared: true }, p99, loopDelay, generator],
  groups: [group("acknowledging", false), group("working", true)],
};

function group(name: string, work: boolean): Group {
  const variant = { host: "node:http", inbox: "memory", work } as const;
  const suffix = work ? ", working" : "";
  const byHand = `an SDK, empty spans by hand${suffix}`;
  const all: Variant[] = [
    { ...variant, label: `without telemetry${suffix}` },
    { ...variant, telemetry: "no SDK", label: `\`telemetry()\`, no SDK${suffix}` },
    { ...variant, telemetry: "by hand", label: byHand },
    {
      ...{
        ...variant,
        telemetry: "SDK",
        label: `\`telemetry()\` and an SDK${suffix}`,
        base: byHand,
      },
      row: `\`telemetry()\` with an SDK, ${name} / as many empty spans by hand`,
    },
  ];
  return { name, subjects: all.map(overHttp) };
}
