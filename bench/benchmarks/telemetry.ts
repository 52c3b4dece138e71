import type { Benchmark, Group } from "../benchmark.ts";
import { figures, overHttp, type Variant } from "../http.ts";

const { perSecond, p99, loopDelay, cpu, generator } = figures;

/** The cost of OpenTelemetry: our part, and that of the SDK. */
export const telemetry: Benchmark = {
  name: "telemetry",
  title: "What OpenTelemetry costs",
  about:
    "`node:http` with the memory inbox, acknowledged only, and verified and handled, too (as in `sustained`). Beside ours an SDK by hand: with empty spans, one around the request and, where it works, one around authorize and one around the handler, as many as ours; and with the attributes of ours, a histogram and a counter for each, as somebody would write it. What the SDK takes for either is no part of ours. Spans go through a batch processor with its defaults, which drops those that are too many for it, and metrics are collected each second; the exporters send nothing.",
  figures: [perSecond, { ...cpu, isCompared: true }, p99, loopDelay, generator],
  groups: [group("acknowledging", false), group("working", true)],
};

function group(name: string, work: boolean): Group {
  const variant = { host: "node:http", inbox: "memory", work } as const;
  const suffix = work ? ", working" : "";
  const byHand = `an SDK, spans and metrics by hand${suffix}`;
  const all: Variant[] = [
    { ...variant, label: `without telemetry${suffix}` },
    { ...variant, telemetry: "no SDK", label: `\`telemetry()\`, no SDK${suffix}` },
    { ...variant, telemetry: "empty spans", label: `an SDK, empty spans by hand${suffix}` },
    { ...variant, telemetry: "by hand", label: byHand },
    {
      ...variant,
      telemetry: "SDK",
      label: `\`telemetry()\` and an SDK${suffix}`,
      base: byHand,
      row: `\`telemetry()\` with an SDK, ${name} / spans and metrics by hand`,
    },
  ];
  return { name, subjects: all.map(overHttp) };
}
