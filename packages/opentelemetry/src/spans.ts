import {
  type Attributes,
  context,
  type Exception,
  isSpanContextValid,
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
  describe,
  headerOf,
  type Instrument,
  type Instrumentation,
  plainHeaders,
  redactSecrets,
  safeGet,
} from "@reporthook/core/telemetry";
import { errorType, names } from "./names.ts";

const traceparentPattern = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** Creates the spans of one receiver. */
export function createSpans(
  tracer: Tracer,
  { name: receiver, redact }: Pick<Parameters<Instrument>[0], "name" | "redact">,
): Pick<Instrumentation, "receive" | "verify" | "handle"> {
  const attributesOf = (operation: string, type: string, id: string): Attributes => ({
    [names.system]: "reporthook",
    [names.receiver]: receiver,
    [names.operation]: operation,
    [names.operationType]: type,
    [names.id]: id,
  });

  /** Starts a span in a new trace, linked to the request that brought the delivery. */
  function linked(operation: string, type: string, kind: SpanKind, job: Job): Span {
    const attributes = {
      ...attributesOf(operation, type, job.id),
      [names.attempt]: job.attempts + 1,
    };
    return tracer.startSpan(
      `${operation} ${receiver}`,
      { kind, attributes, links: linksTo(job), root: true },
      ROOT_CONTEXT,
    );
  }

  return {
    async receive(incoming, id, run) {
      const sender = spanContextOf(headerOf(incoming.headers, "traceparent"));
      const active = context.active();
      const ours = trace.getSpan(active) !== undefined;
      const parent = ours || sender === null ? active : trace.setSpanContext(active, sender);
      const span = tracer.startSpan(
        `receive ${receiver}`,
        {
          kind: ours ? SpanKind.INTERNAL : SpanKind.SERVER,
          attributes: attributesOf("receive", "receive", id),
        },
        parent,
      );
      return ending(span, redact, async () => {
        const given = sender === null ? withTraceparent(incoming, span.spanContext()) : incoming;
        const decision = await context.with(trace.setSpan(parent, span), () => run(given));
        if (decision.id !== undefined) span.setAttribute(names.id, decision.id);
        if ("refused" in decision) failed(span, decision.refused, null);
        else span.setAttribute(names.outcome, decision.status);
        return decision;
      });
    },

    async verify(job, run) {
      const span = linked("verify", "settle", SpanKind.CLIENT, job);
      return ending(span, redact, async () => {
        const answer = await context.with(trace.setSpan(ROOT_CONTEXT, span), run);
        span.setAttribute(names.verdict, answer.verdict ?? "none");
        if (answer.verdict !== null) return answer;
        // An error of the app's authorize function may contain its arguments.
        const shown = (line: string) =>
          redact(redactSecrets(line, { signature: job.signature ?? "" }));
        failed(span, errorType(answer.error), describe(answer.error, shown));
        return answer;
      });
    },

    async handle(job, run) {
      const span = linked("process", "process", SpanKind.CONSUMER, job);
      return ending(span, redact, async () => {
        const failures = await context.with(trace.setSpan(ROOT_CONTEXT, span), run);
        for (const failure of failures) span.recordException(exceptionOf(failure, redact));
        const [first] = failures;
        if (failures.length > 0) failed(span, errorType(first), describe(first, redact));
        return failures;
      });
    },
  };
}

async function ending<T>(
  span: Span,
  redact: (text: string) => string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    failed(span, errorType(error), describe(error, redact));
    throw error;
  } finally {
    span.end();
  }
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

function linksTo({ headers }: Pick<Job, "headers">): Link[] {
  const context = spanContextOf(headers["traceparent"] ?? null);
  return context === null ? [] : [{ context }];
}

/** Adds the `traceparent` that the delivery will keep. */
function withTraceparent(incoming: Incoming, context: SpanContext): Incoming {
  if (!isSpanContextValid(context)) return incoming;
  const { traceId, spanId, traceFlags } = context;
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
  const { method, url } = incoming;
  const headers = { ...plainHeaders(incoming.headers), traceparent };
  return { method, url, headers, readBody: (limit) => incoming.readBody(limit) };
}

function spanContextOf(traceparent: string | null): SpanContext | null {
  const [, traceId = "", spanId = "", flags = "0"] =
    traceparentPattern.exec(traceparent ?? "") ?? [];
  const found = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(found) ? found : null;
}
