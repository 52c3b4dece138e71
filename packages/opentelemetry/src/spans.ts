import {
  type Context,
  context,
  type Exception,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { Incoming, Job } from "@reporthook/core";
import {
  type Authorization,
  describe,
  headerOf,
  type Instrument,
  plainHeaders,
  type ReceiveResult,
  redactSecrets,
  safeGet,
} from "@reporthook/core/telemetry";
import { errorType, names, spanAttributes } from "./names.ts";

/** A header whose ids are zeros is invalid. */
const traceparentPattern =
  /^[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** A span of a step, and the context in which the step runs. */
export interface Begun {
  readonly span: Span;
  readonly context: Context;
}

/** Begins and ends the spans of one receiver. */
export interface Spans {
  /** Begins the span of a request. `given` is the request to receive: the delivery keeps its `traceparent`. */
  receive(incoming: Incoming, id: string): Begun & { readonly given: Incoming };
  received(span: Span, id: string, result: ReceiveResult): void;
  verify(job: Job): Begun;
  verified(span: Span, job: Job, answer: Authorization): void;
  handle(job: Job): Begun;
  handled(span: Span, failures: readonly unknown[]): void;
  /** The step threw. */
  threw(span: Span, error: unknown): void;
}

/** Creates the spans of one receiver. */
export function createSpans(
  tracer: Tracer,
  { name: receiver, redact }: Pick<Parameters<Instrument>[0], "name" | "redact">,
): Spans {
  /** Makes a function that starts a span in a new trace, linked to the request that brought the delivery. */
  function linked(operation: string, type: string, kind: SpanKind): (job: Job) => Begun {
    const name = `${operation} ${receiver}`;
    return ({ id, attempts, headers }) => {
      const attributes = spanAttributes(receiver, operation, type, id);
      attributes[names.attempt] = attempts + 1;
      const sender = spanContextOf(headers["traceparent"]);
      const links = sender === null ? [] : [{ context: sender }];
      const options = { kind, attributes, links, root: true };
      const span = tracer.startSpan(name, options, ROOT_CONTEXT);
      return { span, context: trace.setSpan(ROOT_CONTEXT, span) };
    };
  }

  return {
    receive(incoming, id) {
      const sender = spanContextOf(headerOf(incoming.headers, "traceparent"));
      const active = context.active();
      const ours = trace.getSpan(active) !== undefined;
      const parent = ours || sender === null ? active : trace.setSpanContext(active, sender);
      const kind = ours ? SpanKind.INTERNAL : SpanKind.SERVER;
      const attributes = spanAttributes(receiver, "receive", "receive", id);
      const span = tracer.startSpan(`receive ${receiver}`, { kind, attributes }, parent);
      const given = sender === null ? withTraceparent(incoming, span.spanContext()) : incoming;
      return { span, context: trace.setSpan(parent, span), given };
    },

    received(span, id, result) {
      if (result.id !== undefined && result.id !== id) span.setAttribute(names.id, result.id);
      if ("refused" in result) failed(span, result.refused, null);
      else span.setAttribute(names.outcome, result.status);
      span.end();
    },

    verify: linked("verify", "settle", SpanKind.CLIENT),

    verified(span, job, answer) {
      span.setAttribute(names.verdict, answer.verdict ?? "none");
      if (answer.verdict === null) {
        // An error of the app's authorize function may contain its arguments.
        const shown = (line: string) =>
          redactSecrets(redact(line), { signature: job.signature ?? "" });
        failed(span, errorType(answer.error), describe(answer.error, shown));
      }
      span.end();
    },

    handle: linked("process", "process", SpanKind.CONSUMER),

    handled(span, failures) {
      for (const failure of failures) span.recordException(exceptionOf(failure, redact));
      const [first] = failures;
      if (failures.length > 0) failed(span, errorType(first), describe(first, redact));
      span.end();
    },

    threw(span, error) {
      failed(span, errorType(error), describe(error, redact));
      span.end();
    },
  };
}

function failed(span: Span, type: string, message: string | null): void {
  span.setAttribute(names.error, type);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== null && { message }) });
}

function exceptionOf(failure: unknown, redact: (text: string) => string): Exception {
  if (typeof safeGet(failure, "stack") !== "string") return describe(failure, redact);
  // The thrown value may have anything there.
  const text = (name: string): string => {
    const value = safeGet(failure, name);
    return typeof value === "string" ? redact(value) : "";
  };
  const shown = { name: text("name"), message: text("message"), stack: text("stack") };
  const code = text("code");
  return code === "" ? shown : { ...shown, code };
}

/** Adds the `traceparent` that the delivery will keep. */
function withTraceparent(incoming: Incoming, context: SpanContext): Incoming {
  if (!isSpanContextValid(context)) return incoming;
  const { traceId, spanId, traceFlags } = context;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  const { method, url } = incoming;
  const headers = plainHeaders(incoming.headers);
  headers["traceparent"] = traceparent;
  return { method, url, headers, readBody: (limit) => incoming.readBody(limit) };
}

function spanContextOf(traceparent: string | null | undefined): SpanContext | null {
  const parts = traceparent ? traceparentPattern.exec(traceparent) : null;
  if (parts === null) return null;
  const [, traceId = "", spanId = "", flags = "0"] = parts;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
