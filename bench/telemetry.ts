import { context, metrics, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type Telemetry, telemetry } from "@reporthook/opentelemetry";

/**
 * How much of it there is: a core whose seam is taken out, one that was given nothing (twice, to see what chance makes of
 * two that are the same), one that was given `telemetry()` without an SDK, and with one.
 */
export type TelemetryName = "no seam" | "none" | "none again" | "no SDK" | "SDK";

const collectEveryMs = 1_000;

/** What a receiver is given. */
export function telemetryOf(name: TelemetryName): Partial<Telemetry> {
  if (name === "no seam" && !("withoutSeam" in globalThis)) {
    throw new Error("without-seam.ts has not found the seam: adapt it to how core is built");
  }
  if (name === "SDK") registerSdk();
  return name === "SDK" || name === "no SDK" ? telemetry() : {};
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
