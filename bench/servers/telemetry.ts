import { context, metrics, type Span, SpanKind, type SpanOptions, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type Telemetry, telemetry } from "@reporthook/opentelemetry";
import type { Listener } from "./hosts.ts";

/** How much of it there is: our package, with an SDK or without, or an SDK by hand, with empty spans or with what ours tell. */
export type TelemetryName = "no SDK" | "SDK" | "empty spans" | "by hand";

/** The telemetry around the work of a receiver. */
export interface Instrumented {
  readonly options?: Telemetry;
  readonly listener?: (listener: Listener) => Listener;
  readonly work?: <Args extends unknown[], T>(
    name: "verify" | "process",
    run: (...args: Args) => T | Promise<T>,
  ) => (...args: Args) => Promise<T>;
}

const collectEveryMs = 1_000;

/** Sets up what is asked for. */
export function instrument(name: TelemetryName): Instrumented {
  if (name !== "no SDK") registerSdk();
  if (name === "empty spans") return emptySpans();
  return name === "by hand" ? byHand() : { options: telemetry() };
}

/** As many spans as ours, and nothing else: what an SDK costs at least. */
function emptySpans(): Instrumented {
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

/** The attributes and the metrics of ours, as somebody would write them; without ids and links, which are not at hand. */
function byHand(): Instrumented {
  const tracer = trace.getTracer("by hand");
  const meter = metrics.getMeter("by hand");
  const counter = meter.createCounter("deliveries");
  const durations = {
    receive: meter.createHistogram("acknowledge.duration", { unit: "s" }),
    verify: meter.createHistogram("authorize.duration", { unit: "s" }),
    process: meter.createHistogram("process.duration", { unit: "s" }),
  };
  const base = { "messaging.system": "reporthook", "messaging.destination.name": "bench" };
  const optionsOf = (name: string, kind: SpanKind): SpanOptions => {
    const operation = { "messaging.operation.name": name, "messaging.operation.type": name };
    return { kind, attributes: { ...base, ...operation } };
  };
  const end = (name: keyof typeof durations, span: Span, startedAt: number): void => {
    const attributes = { ...base, outcome: name };
    span.setAttribute("outcome", name);
    span.end();
    durations[name].record((performance.now() - startedAt) / 1_000, attributes);
    counter.add(1, attributes);
  };
  return {
    listener: (listener) => (req, res) => {
      const startedAt = performance.now();
      const options = optionsOf("receive", SpanKind.SERVER);
      return tracer.startActiveSpan("receive", options, (span) => {
        res.once("finish", () => end("receive", span, startedAt));
        return listener(req, res);
      });
    },
    work:
      (name, run) =>
      (...args) => {
        const startedAt = performance.now();
        const options = optionsOf(name, SpanKind.CONSUMER);
        return tracer.startActiveSpan(name, options, async (span) => {
          try {
            return await run(...args);
          } finally {
            end(name, span, startedAt);
          }
        });
      },
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
      forceFlush: nothing,
      shutdown: nothing,
    },
    exportIntervalMillis: collectEveryMs,
    exportTimeoutMillis: collectEveryMs,
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [spans] }));
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
}
