import { inspect } from "node:util";
import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** OpenTelemetry as an app switches it on, for every `fetch` of this process. */
export interface Tracing {
  /** How many spans there are. */
  readonly count: number;
  /** All that they hold. */
  text(): string;
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
    get count() {
      return exporter.getFinishedSpans().length;
    },
    text: () =>
      exporter
        .getFinishedSpans()
        .map(({ name, attributes, events, status }) =>
          inspect([name, attributes, events, status], { depth: 10, maxStringLength: null }),
        )
        .join("\n"),
    async stop() {
      instrumentation.disable();
      context.disable();
      await provider.shutdown();
    },
  };
}
