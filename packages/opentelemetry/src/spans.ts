import {
  type Context,
  context,
  type Exception,
  type Link,
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
  createTextRedactor,
  describe,
  headerOf,
  type Instrument,
  plainHeaders,
  type ReceiveResult,
  redactSecrets,
  safeGet,
} from "@reporthook/core/telemetry";
import { errorType, names, spanAttributes } from "./names.ts";
import { spanContextOf, traceparentOf } from "./traceparent.ts";

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
  /** `traceparent` is that of the request for the report. */
  handle(job: Job, traceparent?: string): Begun;
  handled(span: Span, failures: readonly unknown[]): void;
  /** The step threw. */
  threw(span: Span, error: unknown): void;
}

/** Creates the spans of one receiver. */
export function createSpans(
  tracer: Tracer,
  { name: receiver, redact: withoutKey }: Pick<Parameters<Instrument>[0], "name" | "redact">,
): Spans {
  const withoutTokens = createTextRedactor();
  const redact = (text: string): string => withoutTokens(withoutKey(text));

  /** Makes a function that starts a span in a new trace, linked to what brought the delivery, and to who asked for the report. */
  function linked(operation: string, type: string, kind: SpanKind) {
    const name = `${operation} ${receiver}`;
    return ({ id, requestId, attempts, headers }: Job, asked?: string): Begun => {
      const attributes = spanAttributes(receiver, operation, type, id);
      attributes[names.attempt] = attempts + 1;
      if (requestId !== null) attributes[names.requestId] = requestId;
      const links = linksTo(headers["traceparent"], asked);
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

function linksTo(...traceparents: readonly (string | undefined)[]): Link[] {
  return traceparents.flatMap((traceparent) => {
    const linkedTo = spanContextOf(traceparent);
    return linkedTo === null ? [] : { context: linkedTo };
  });
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
  const traceparent = traceparentOf(context);
  if (traceparent === undefined) return incoming;
  const { method, url } = incoming;
  const headers = plainHeaders(incoming.headers);
  headers["traceparent"] = traceparent;
  return { method, url, headers, readBody: (limit) => incoming.readBody(limit) };
}
