import {
  context,
  diag,
  type Meter,
  metrics,
  type Span,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import {
  assertKnownKeys,
  describe,
  type Instrument,
  type Instrumentation,
  instrumentation,
} from "@reporthook/core/telemetry";
import { createMetrics } from "./metrics.ts";
import { createRequestSpans } from "./request-spans.ts";
import { type Begun, createSpans, type Spans } from "./spans.ts";

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
 * @throws TypeError if the options are no object, or one of them is unknown
 * @example const receiver = createReceiver({ client, inbox, ...telemetry() });
 */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  assertKnownKeys("telemetry", options, ["tracer", "meter"]);
  return {
    [instrumentation](receiver): Instrumentation {
      const tracer = options.tracer ?? trace.getTracer(scope);
      const spans = createSpans(tracer, receiver);
      const requests = createRequestSpans(tracer, receiver.name);
      const measured = createMetrics(options.meter ?? metrics.getMeter(scope), receiver);
      const { guarded, within } = createSteps(receiver, spans);
      return {
        receive(incoming, id, run) {
          const begun = guarded(() => spans.receive(incoming, id));
          return within(begun, () => run(begun?.given ?? incoming), {
            ended(span, startedAt, result) {
              measured.received(startedAt, "refused" in result ? result.refused : result.status);
              spans.received(span, id, result);
            },
            threw: (startedAt) => measured.received(startedAt, "inbox_unavailable"),
          });
        },
        verify(job, run) {
          const begun = guarded(() => spans.verify(job));
          return within(begun, run, {
            ended(span, startedAt, answer) {
              measured.verified(startedAt, answer);
              spans.verified(span, job, answer);
            },
            threw: (startedAt) => measured.verified(startedAt, null),
          });
        },
        handle(job, run, traceparent) {
          const begun = guarded(() => spans.handle(job, traceparent));
          return within(begun, run, {
            ended(span, startedAt, failures) {
              measured.handled(startedAt, failures);
              spans.handled(span, failures);
            },
            threw: (startedAt) => measured.handled(startedAt, null),
          });
        },
        request(run) {
          const begun = guarded(requests.begin);
          return within(begun, () => run(begun?.traceparent), {
            ended: (span, _, { id }) => requests.ended(span, id),
            threw: (_, span, error) => requests.failed(span, error),
          });
        },
        end: measured.end,
      };
    },
  };
}

/** The reports at the end of a step. */
interface Told<T> {
  ended(span: Span, startedAt: number, result: T): void;
  threw(startedAt: number, span: Span, error: unknown): void;
}

function createSteps({ redact }: Parameters<Instrument>[0], spans: Spans) {
  /** Runs what the app's own processors may throw in: a lost span or metric must not stop the work. */
  function guarded<T>(tell: () => T): T | undefined {
    try {
      return tell();
    } catch (error) {
      diag.error(`${scope}: a span or a metric is lost: ${describe(error, redact)}`);
      return undefined;
    }
  }

  /** Runs a step in its span. Makes one promise only: each costs an app that tracks contexts. */
  function within<T>(begun: Begun | undefined, run: () => Promise<T>, told: Told<T>): Promise<T> {
    if (begun === undefined) return run();
    const startedAt = performance.now();
    const { span, context: active } = begun;
    return context.with(active, run).then(
      (result) => {
        guarded(() => told.ended(span, startedAt, result));
        return result;
      },
      (error: unknown) => {
        guarded(() => {
          told.threw(startedAt, span, error);
          spans.threw(span, error);
        });
        throw error;
      },
    );
  }

  return { guarded, within };
}
