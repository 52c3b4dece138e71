import { context, type Span, SpanKind, type Tracer, trace } from "@opentelemetry/api";
import { safeGet } from "@reporthook/core/telemetry";
import { names, spanAttributes } from "./names.ts";
import type { Begun } from "./spans.ts";
import { traceparentOf } from "./traceparent.ts";

/** Begins and ends the spans of a receiver's requests for reports. */
export interface RequestSpans {
  /** Begins one within the active span. `traceparent` is kept with the request: the handlers of its events are linked to it. */
  begin(): Begun & { readonly traceparent: string | undefined };
  ended(span: Span, id: string): void;
  /** The request failed; its error has its id if the service may have it. */
  failed(span: Span, error: unknown): void;
}

/** Creates the spans of a receiver's requests for reports. */
export function createRequestSpans(tracer: Tracer, receiver: string): RequestSpans {
  return {
    begin() {
      const kind = SpanKind.CLIENT;
      const attributes = spanAttributes(receiver, "request", "send");
      const parent = context.active();
      const span = tracer.startSpan(`request ${receiver}`, { kind, attributes }, parent);
      const traceparent = traceparentOf(span.spanContext());
      return { span, context: trace.setSpan(parent, span), traceparent };
    },

    ended(span, id) {
      span.setAttribute(names.requestId, id);
      span.end();
    },

    failed(span, error) {
      const id = safeGet(error, "requestId");
      if (typeof id === "string") span.setAttribute(names.requestId, id);
    },
  };
}
