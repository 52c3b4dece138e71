import { type Context, context, type Meter, metrics, type Tracer, trace } from "@opentelemetry/api";
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
        receive(incoming, id, run) {
          const startedAt = performance.now();
          const { span, context: active, given } = spans.receive(incoming, id);
          return within(active, () => run(given), {
            ended(result) {
              spans.received(span, id, result);
              measured.received(startedAt, "refused" in result ? result.refused : result.status);
            },
            threw(error) {
              spans.threw(span, error);
              measured.received(startedAt, "inbox_unavailable");
            },
          });
        },
        verify(job, run) {
          const startedAt = performance.now();
          const { span, context: active } = spans.verify(job);
          return within(active, run, {
            ended(answer) {
              spans.verified(span, job, answer);
              measured.verified(startedAt, answer);
            },
            threw(error) {
              spans.threw(span, error);
              measured.verified(startedAt, null);
            },
          });
        },
        handle(job, run) {
          const startedAt = performance.now();
          const { span, context: active } = spans.handle(job);
          return within(active, run, {
            ended(failures) {
              spans.handled(span, failures);
              measured.handled(startedAt, failures);
            },
            threw(error) {
              spans.threw(span, error);
              measured.handled(startedAt, null);
            },
          });
        },
        settled: measured.settled,
        end: measured.end,
      };
    },
  };
}

/** Runs a step in its context, and passes on its result. Makes one promise only: each costs an app that tracks contexts. */
function within<T>(
  active: Context,
  run: () => Promise<T>,
  told: { ended(result: T): void; threw(error: unknown): void },
): Promise<T> {
  return context.with(active, run).then(
    (result) => {
      told.ended(result);
      return result;
    },
    (error: unknown) => {
      told.threw(error);
      throw error;
    },
  );
}
