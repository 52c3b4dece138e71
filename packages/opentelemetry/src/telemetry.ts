import { type Meter, metrics, type Tracer, trace } from "@opentelemetry/api";
import { type Instrument, type Instrumentation, instrumentation } from "@reporthook/core/telemetry";
import { createMetrics } from "./metrics.ts";
import { createSpans } from "./spans.ts";

/** Options of {@link telemetry}. */
export interface TelemetryOptions {
  /** Default: the global provider's tracer `@reporthook/opentelemetry`. */
  readonly tracer?: Tracer | undefined;
  /** Default: the global provider's meter `@reporthook/opentelemetry`. */
  readonly meter?: Meter | undefined;
}

/** Options to spread into those of `createReceiver`. */
export interface Telemetry {
  readonly [instrumentation]: Instrument;
}

const scope = "@reporthook/opentelemetry";

/**
 * Creates spans and metrics of a receiver: spread the result into its options. Several receivers may share it.
 *
 * @example const receiver = createReceiver({ client, inbox, ...telemetry() });
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  return {
    [instrumentation](receiver): Instrumentation {
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
