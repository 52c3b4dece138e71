import { inspect } from "node:util";
import { context, type Tracer } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** OpenTelemetry as an app switches it on, for every `fetch` of this process. */
export interface Tracing {
  /** The spans that have ended. */
  readonly spans: readonly ReadableSpan[];
  /** The spans of a name. */
  named(name: string): ReadableSpan[];
  /** All that the spans hold. */
  text(): string;
  tracer(name: string): Tracer;
  /** Forgets the spans. */
  reset(): void;
  stop(): Promise<void>;
}

/** Switches it on. */
export function startTracing(): Tracing {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const instrumentation = new UndiciInstrumentation();
  instrumentation.setTracerProvider(provider);
  return {
    get spans() {
      return exporter.getFinishedSpans();
    },
    named: (name) => exporter.getFinishedSpans().filter((span) => span.name === name),
    text: () =>
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, events, status, links }) =>
          inspect([name, attributes, events, status, links], { depth: 10, maxStringLength: null }),
        )
        .join("\n"),
    tracer: (name) => provider.getTracer(name),
    reset: () => exporter.reset(),
    async stop() {
      instrumentation.disable();
      context.disable();
      await provider.shutdown();
    },
  };
}
