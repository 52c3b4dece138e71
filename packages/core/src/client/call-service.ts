import { isNode } from "../lib/platform.ts";
import { safeGet, tryGet } from "../lib/safe-get.ts";
import { answerRedactor, createRedactor, type Secrets } from "../lib/text/redact.ts";
import { systemClock } from "../lib/time/clock.ts";
import { settlesWithin, withTimeout } from "../lib/time/timeout.ts";
import { checkHeaderValue, type ReportAuth } from "./client-options.ts";
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

/** The service that a client calls. */
export interface CalledService {
  /** Its address, without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey: () => string | Promise<string>;
  /** By default the global one, at each call. */
  readonly fetch: Fetch | undefined;
  /** For all of a call: getting the key, the answer and the answer's body. */
  readonly timeoutMs: number;
}

/** One call of an operation. */
export interface ServiceCall {
  /** The path of the operation. */
  readonly path: string;
  /** How it carries the key. */
  readonly auth: ReportAuth;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
  /** Secrets that no error may show, in addition to the key. */
  readonly secrets: Secrets;
  /** The statuses that are the whole answer: its body may break off, or never end. Without them it is any 2xx, with its body. */
  readonly verdicts?: ReadonlyMap<number, unknown>;
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
export async function callService(
  service: CalledService,
  call: ServiceCall,
): Promise<ServiceAnswer> {
  const progress: CallProgress = { asked: "", sent: false, text: "", isWhole: false };
  const { fetch, timeoutMs: ms } = service;
  const { secrets, signal: parent, verdicts } = call;
  const endpoint = service.baseUrl + call.path;
  const timedOut = () => late(progress, ms);
  const limit = { clock: systemClock, ms, late: timedOut, parent, keepsAlive: true };
  const called = withTimeout(limit, async (scope) => {
    const key = await service.apiKey();
    scope.signal.throwIfAborted();
    const redactor = createRedactor(key);
    progress.asked = `POST ${redactor.text(endpoint)}`;
    const used: Fetch | undefined = fetch ?? globalThis.fetch;
    if (typeof used === "function") {
      const { url, init } = requestOf(call, endpoint, key);
      await send(used, url, { ...init, signal: scope.signal }, call, progress);
    }
    const { taken, broken, isWhole, text } = progress;
    if (!isWhole) scope.stop();
    if (taken && !broken && !saysNothing(progress))
      return { status: taken, body: parse(text, answerRedactor(key, redactor)) };
    throw serviceFailure(progress, endpoint, createRedactor(key, secrets), fetch === undefined);
  });
  return await called.catch((error) => {
    const { sent, taken } = progress;
    // The app's own function gave no key, or one that can't be sent. The reason of a signal may be that of other calls.
    const isOfThisCall = !parent?.aborted || safeGet(error, "sent") === true;
    if (!sent && isOfThisCall) Object.assign(error, { sent });
    const isEnough = verdicts && !saysNothing(progress);
    if (!taken || !isEnough || parent?.aborted) throw error;
    return { status: taken, body: "" };
  });
}

/** The request of a call, which carries the key. */
function requestOf(
  { auth, headers, body }: ServiceCall,
  endpoint: string,
  key: string,
): { readonly url: string; readonly init: Omit<FetchInit, "signal"> } {
  if (auth === "header") checkHeaderValue(key, "apiKey");
  return {
    url: auth === "query" ? `${endpoint}?api_key=${encodeURIComponent(key)}` : endpoint,
    init: {
      method: "POST",
      headers: {
        ...headers,
        ...(body && { "content-type": "application/json" }),
        ...(auth === "header" && { "api-key": key }),
      },
      ...(body && { body }),
      redirect: "manual",
    },
  };
}

/** Sends a call and reads the answer; notes how far it comes. */
async function send(
  fetch: Fetch,
  url: string,
  init: FetchInit,
  { path, auth, verdicts }: ServiceCall,
  progress: CallProgress,
): Promise<void> {
  progress.sent = true;
  let response: ServiceResponse | undefined;
  try {
    const start = () => fetch(url, init);
    const given: unknown = await (auth === "query" ? untraced(start) : start());
    response = responseOf(given);
    // It may be what a report was asked for with.
    if (response === undefined) progress.text = tryGet(() => JSON.stringify(given)) ?? "";
  } catch (thrown) {
    response = responseIn(thrown, path);
    if (response === undefined) progress.broken = { by: thrown };
  }
  if (response !== undefined) {
    const { status, isRedirect } = response;
    const isExpected = verdicts ? verdicts.has(status) : status >= 200 && status < 300;
    if (!isRedirect && isExpected) progress.taken = status;
    progress.response = response;
    const reading = readBody(response, progress, init.signal).catch((thrown: unknown) => {
      progress.broken = { by: thrown };
    });
    const isBrief = verdicts && progress.taken;
    await (isBrief ? settlesWithin(systemClock, bodyMs, reading) : reading);
  }
  if (auth === "query") forgetTiming(url);
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
