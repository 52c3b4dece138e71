import { type Meter, metrics, type Tracer, trace } from "@opentelemetry/api";
import { type Around, type Seam, seam } from "@reporthook/core/telemetry";
import { createMetrics } from "./metrics.ts";
import { createSpans } from "./spans.ts";

/** Options of {@link telemetry}. */
export interface TelemetryOptions {
  /** The global provider's `@reporthook/opentelemetry`, when left out. */
  readonly tracer?: Tracer | undefined;
  /** Likewise. */
  readonly meter?: Meter | undefined;
}

/** What `createReceiver` takes among its options. */
export interface Telemetry {
  readonly [seam]: Seam;
}

const scope = "@reporthook/opentelemetry";

/**
 * Spans and metrics of a receiver: to be spread into its options. May be used for several.
 *
 * @example const receiver = createReceiver({ client, inbox, ...telemetry() });
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  return {
    [seam](receiver): Around {
      const spans = createSpans(options.tracer ?? trace.getTracer(scope), receiver);
      const measured = createMetrics(options.meter ?? metrics.getMeter(scope), receiver);
      return {
        receive: (incoming, id, run) => measured.receive(() => spans.receive(incoming, id, run)),
        verify: (job, run) => measured.verify(() => spans.verify(job, run)),
        handle: (job, run) => measured.handle(() => spans.handle(job, run)),
        settled: measured.settled,
        end: measured.end,
      };
    },
  };
}
