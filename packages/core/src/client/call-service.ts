import { isNode } from "../lib/platform.ts";
import { safeGet, tryGet } from "../lib/safe-get.ts";
import { answerRedactor, createRedactor, type Secrets } from "../lib/text/redact.ts";
import { systemClock } from "../lib/time/clock.ts";
import { settlesWithin, withTimeout } from "../lib/time/timeout.ts";
import { type FetchResponse, readBody } from "./read-response.ts";
import { type CallProgress, late, parse, saysNothing, serviceFailure } from "./service-failure.ts";
import { responseIn, responseOf, type ServiceResponse } from "./service-response.ts";

/** The second argument of a call to `fetch`. */
export interface FetchInit {
  readonly method: "POST";
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: "manual";
  readonly signal: AbortSignal;
}

/** The part of `fetch` that is used: the global one fits, and so do those of undici, node-fetch and cross-fetch. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchResponse>;

/** One operation of the service. */
export interface ServiceCall {
  /** The address without its query, so that it can be shown. */
  readonly endpoint: string;
  /** The path of the operation, with which the address ends. */
  readonly path: string;
  /** By default the global one, at each call. */
  readonly fetch: Fetch | undefined;
  /** For all of it: getting the key, the answer and the answer's body. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly apiKey: () => string | Promise<string>;
  /** Makes the request with the key. */
  readonly request: (apiKey: string) => {
    readonly query?: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
  };
  /** Secrets that no error may show, in addition to the key. */
  readonly secrets: Secrets;
  /** Whether the operation may end with this status. */
  readonly expects: (status: number) => boolean;
  /** Whether the status is the whole answer: its body may break off, or never end. */
  readonly statusOnly?: boolean;
}

/** A 2xx answer of the service. */
export interface ServiceAnswer {
  readonly status: number;
  /**
   * Parsed JSON, else text (`""` when empty); the document shows no shape. The API key is taken out, and of
   * more than 64 KiB only the beginning is kept, as text.
   */
  readonly body: unknown;
}

/** Milliseconds to wait for a body that decides nothing but whether the answer is a page. */
const bodyMs = 1_000;

/**
 * Makes one call, once, and reads the answer to its end so that the connection is used again.
 *
 * @throws ServiceError for every other answer, none, or none in time; `signal.reason` if the caller aborts, whose `sent`, if it is
 * true, becomes false if nothing was sent.
 */
export async function callService(call: ServiceCall): Promise<ServiceAnswer> {
  const waitingFor = "The function given as apiKey returned no key, and nothing was sent,";
  const progress: CallProgress = { waitingFor, sent: false, text: "", isWhole: false };
  const { timeoutMs: ms, signal: parent } = call;
  const timedOut = () => late(progress, ms);
  const limit = { clock: systemClock, ms, late: timedOut, parent, keepsAlive: true };
  const called = withTimeout(limit, async (scope) => {
    const { signal } = scope;
    const key = await call.apiKey();
    signal.throwIfAborted();
    const redactor = createRedactor(key);
    await send(call, key, `POST ${redactor.text(call.endpoint)}`, progress, signal);
    const { taken, broken, isWhole, text } = progress;
    if (!isWhole) scope.stop();
    if (taken && !broken && !saysNothing(progress))
      return { status: taken, body: parse(text, answerRedactor(key, redactor)) };
    const { endpoint, fetch, secrets } = call;
    const byGlobal = fetch === undefined;
    throw serviceFailure({ endpoint, redactor: createRedactor(key, secrets), byGlobal }, progress);
  });
  return await called.catch((error) => {
    const { sent, taken } = progress;
    // The app's own function gave no key, or one that can't be sent. The reason of a signal may be that of other calls.
    const isOfThisCall = !call.signal?.aborted || safeGet(error, "sent") === true;
    if (!sent && isOfThisCall) Object.assign(error, { sent });
    const isEnough = call.statusOnly && !saysNothing(progress);
    if (!taken || !isEnough || call.signal?.aborted) throw error;
    return { status: taken, body: "" };
  });
}

async function send(
  call: ServiceCall,
  key: string,
  asked: string,
  progress: CallProgress,
  signal: AbortSignal,
): Promise<void> {
  const fetch: Fetch | undefined = call.fetch ?? globalThis.fetch;
  if (typeof fetch !== "function") return;
  const { query = "", ...sent } = call.request(key);
  progress.waitingFor = `${asked} was not answered`;
  progress.sent = true;
  const start = () =>
    fetch(call.endpoint + query, { method: "POST", ...sent, redirect: "manual", signal });
  try {
    const given = await answerOf(() => (query === "" ? start() : untraced(start)), call.path);
    const { response } = given;
    if (response === undefined) {
      // It may be what a report was asked for with.
      progress.text = tryGet(() => JSON.stringify(given.other)) ?? "";
      return;
    }
    const { status, isRedirect } = response;
    if (!isRedirect && call.expects(status)) progress.taken = status;
    progress.response = response;
    progress.waitingFor = `${asked} answered ${status}, but did not end`;
    const reading = readBody(response, progress, signal);
    const isBrief = call.statusOnly && progress.taken;
    await (isBrief ? settlesWithin(systemClock, bodyMs, reading) : reading);
  } catch (thrown) {
    progress.broken = { by: thrown };
  } finally {
    if (query !== "") forgetTiming(call.endpoint + query);
  }
}

/** The answer to a call of `path` that a fetch resolves to or rejects with; `other` is something else that it resolves to. */
async function answerOf(
  start: () => Promise<unknown>,
  path: string,
): Promise<{ readonly response?: ServiceResponse | undefined; readonly other?: unknown }> {
  let given: unknown;
  try {
    given = await start();
  } catch (thrown) {
    const response = responseIn(thrown, path);
    if (response === undefined) throw thrown;
    return { response };
  }
  return { response: responseOf(given), other: given };
}

// That of the runtime, before a test runner replaces it. A browser's world, as jsdom makes one on Node, has none.
const { setImmediate: later = queueMicrotask } = globalThis;

/** Takes an address out of the performance entries, where the fetch of Node leaves it. Elsewhere all of them would go. */
function forgetTiming(address: string): void {
  if (!isNode) return;
  const timings: { clearResourceTimings(name: string): void } = performance;
  const forget = () => tryGet(() => timings.clearResourceTimings(new URL(address).href));
  // It comes with the end of the body, which the reader may have seen before.
  later(forget);
}

interface Context {
  setValue(key: symbol, value: unknown): Context;
}

/** The part of OpenTelemetry's API that it registers globally, for all of its copies. */
interface Telemetry {
  readonly context?: {
    active(): Context;
    with<T>(context: Context, run: () => T): T;
  };
}

const api = Symbol.for("opentelemetry.js.api.1");
const suppressed = Symbol.for("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** Makes a call whose URL carries a secret, without a span of OpenTelemetry: a span of a fetch holds the whole URL. */
function untraced<T>(run: () => T): T {
  const { context } = ((globalThis as Record<symbol, unknown>)[api] ?? {}) as Telemetry;
  if (context === undefined) return run();
  return context.with(context.active().setValue(suppressed, true), run);
}
