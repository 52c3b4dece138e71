import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type Telemetry, telemetry } from "@reporthook/opentelemetry";
import type { Listener } from "./hosts.ts";

/** How much of it there is: our package, with an SDK or without, or spans by hand with an SDK. */
export type TelemetryName = "no SDK" | "SDK" | "by hand";

/** What is put around the work of a receiver. */
export interface Instrumented {
  readonly options?: Telemetry;
  readonly listener?: (listener: Listener) => Listener;
  readonly work?: <Args extends unknown[], T>(
    name: string,
    run: (...args: Args) => T | Promise<T>,
  ) => (...args: Args) => Promise<T>;
}

const collectEveryMs = 1_000;

/** Sets up what is asked for. */
export function instrument(name: TelemetryName): Instrumented {
  if (name !== "no SDK") registerSdk();
  return name === "by hand" ? byHand() : { options: telemetry() };
}

/** As many spans as ours, empty, and no metrics: what an SDK costs at least. */
function byHand(): Instrumented {
  const tracer = trace.getTracer("by hand");
  return {
    listener: (listener) => (req, res) =>
      tracer.startActiveSpan("receive", (span) => {
        res.once("finish", () => span.end());
        return listener(req, res);
      }),
    work:
      (name, run) =>
      (...args) =>
        tracer.startActiveSpan(name, async (span) => {
          try {
            return await run(...args);
          } finally {
            span.end();
          }
        }),
  };
}

/** An SDK as an app sets it up, whose exporters take everything and send nothing. */
function registerSdk(): void {
  const done = { code: 0 };
  const nothing = async (): Promise<void> => {};
  const spans = new BatchSpanProcessor({
    export: (_spans, report) => report(done),
    shutdown: nothing,
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: {
      export: (_metrics, report) => report(done),
      ...{ forceFlush: nothing, shutdown: nothing },
    },
    ...{ exportIntervalMillis: collectEveryMs, exportTimeoutMillis: collectEveryMs },
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [spans] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
}
