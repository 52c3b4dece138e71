import { isSpanContextValid, type SpanContext } from "@opentelemetry/api";

/** A header whose ids are zeros is invalid. */
const traceparentPattern =
  /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** The W3C `traceparent` of a span; undefined without one. */
export function traceparentOf(context: SpanContext): string | undefined {
  if (!isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags } = context;
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** Reads a `traceparent`; null if it is none. */
export function spanContextOf(traceparent: string | null | undefined): SpanContext | null {
  const parts = traceparent ? traceparentPattern.exec(traceparent) : null;
  if (parts === null) return null;
  const [, traceId = "", spanId = "", flags = "0"] = parts;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
