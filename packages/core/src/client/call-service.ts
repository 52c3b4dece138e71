import { ServiceError, type ServiceErrorCode } from "../errors.ts";
import { graceMs, isOverdue } from "../lib/clock.ts";
import { createRedactor, type Redactor, type Secrets } from "../lib/redact.ts";
import { tryGet } from "../lib/safe-get.ts";
import { shownError } from "../lib/thrown.ts";
import { type BodyText, type FetchResponse, isHtmlPage, readBody } from "./read-response.ts";
import { untraced } from "./untraced.ts";

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

/** An expected answer: its status, and its body (parsed JSON, else text) without the API key. */
export interface ExpectedAnswer {
  readonly status: number;
  readonly body: unknown;
}

const maxErrorText = 2_048;
/** Milliseconds to wait for a body that decides nothing but whether the answer is a page. */
const bodyMs = 1_000;

/** The progress of one exchange with the service. */
interface Exchange extends BodyText {
  /** The current step, as the start of a sentence. */
  waitingFor: string;
  response?: FetchResponse;
  /** An expected status. */
  taken?: number;
  /** The error that ended it early. */
  broken?: { readonly by: unknown };
}

/**
 * Makes one call, once, and reads the answer to its end so that the connection is used again.
 *
 * @throws ServiceError for every other answer, none, or none in time; `signal.reason` if the caller aborts.
 */
export async function callService(call: ServiceCall): Promise<ExpectedAnswer> {
  const waitingFor = "The function given as apiKey returned no key, and nothing was sent,";
  const exchange: Exchange = { waitingFor, text: "", isWhole: false };
  const timedOut = () => {
    const message = `${exchange.waitingFor} within ${call.timeoutMs} ms (timeoutMs)`;
    const details = { ...statusOf(exchange), retryable: !exchange.taken };
    return new ServiceError("service_timeout", message, details);
  };
  const called = withDeadline(call.timeoutMs, call.signal, timedOut, async (signal, stop) => {
    const key = await call.apiKey();
    signal.throwIfAborted();
    const redactor = createRedactor(key);
    await send(call, key, `POST ${redactor.text(call.endpoint)}`, exchange, signal);
    const { taken, broken, isWhole, text } = exchange;
    if (!isWhole) stop();
    if (taken && !broken && !isPage(exchange))
      return { status: taken, body: parse(text, redactor) };
    throw failure(call, createRedactor(key, call.secrets), exchange);
  });
  return await called.catch((error) => {
    const { taken } = exchange;
    if (!taken || !call.statusOnly || call.signal?.aborted || isPage(exchange)) throw error;
    return { status: taken, body: "" };
  });
}

async function send(
  call: ServiceCall,
  key: string,
  asked: string,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  const fetch: Fetch | undefined = call.fetch ?? globalThis.fetch;
  if (typeof fetch !== "function") return;
  exchange.waitingFor = `${asked} was not answered`;
  const { query = "", ...sent } = call.request(key);
  const start = () =>
    fetch(call.endpoint + query, { method: "POST", ...sent, redirect: "manual", signal });
  try {
    const response = await (query === "" ? start() : untraced(start));
    if (!response.redirected && call.expects(response.status)) exchange.taken = response.status;
    exchange.response = response;
    exchange.waitingFor = `${asked} answered ${statusOf(exchange).status}, but did not end`;
    const reading = readBody(response, exchange, signal);
    await (call.statusOnly && exchange.taken ? atMost(bodyMs, reading) : reading);
  } catch (thrown) {
    exchange.broken = { by: thrown };
  }
}

async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Whether the answer is a page for people, which says nothing about the operation. Refusals may be pages: many frameworks answer
 * so.
 */
function isPage({ response, ...body }: Exchange): boolean {
  return response !== undefined && response.status < 300 && isHtmlPage(response, body);
}

async function withDeadline<T>(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  timedOut: () => Error,
  work: (signal: AbortSignal, stop: () => void) => Promise<T>,
): Promise<T> {
  if (caller?.aborted) throw caller.reason;
  const controller = new AbortController();
  let end: (reason: unknown) => void = () => {};
  // Raced, not left to the signal: a fetch that ignores its signal must not hold the caller.
  const ended = new Promise<never>((_, reject) => {
    end = (reason) => {
      reject(reason);
      controller.abort();
    };
  });
  const onAbort = () => end(caller?.reason);
  let timer: ReturnType<typeof setTimeout>;
  const arm = (ms: number): void => {
    const since = performance.now();
    timer = setTimeout(() => (isOverdue(since, ms) ? arm(graceMs) : end(timedOut())), ms);
  };
  arm(timeoutMs);
  caller?.addEventListener("abort", onAbort);
  try {
    return await Promise.race([work(controller.signal, () => controller.abort()), ended]);
  } finally {
    clearTimeout(timer!);
    caller?.removeEventListener("abort", onAbort);
  }
}

function parse(text: string, redactor: Redactor): unknown {
  try {
    return redactor.value(JSON.parse(text));
  } catch {
    return redactor.text(text);
  }
}

/** The error of an exchange that ended without success: the first reason that applies. */
function failure(call: ServiceCall, redactor: Redactor, exchange: Exchange): ServiceError {
  const { response, taken, text, broken } = exchange;
  const cause = broken && shownError(broken.by, (shown) => redactor.text(shown));
  const fail = (code: ServiceErrorCode, problem: string, retryable: boolean): ServiceError => {
    const retryAfterMs = parseRetryAfter(
      tryGet(() => response?.headers.get("retry-after")) ?? null,
    );
    return new ServiceError(code, `POST ${redactor.text(call.endpoint)} ${problem}`, {
      ...statusOf(exchange),
      ...(text && { body: parse(redactor.text(text, maxErrorText), redactor) }),
      retryable,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(code === "service_unreachable" && cause && { cause }),
    });
  };
  if (!response) {
    return cause
      ? fail("service_unreachable", `got no answer${codeOf(cause)}: check baseUrl`, true)
      : fail("service_unreachable", unsent, false);
  }
  const { status, type, redirected } = response;
  if (redirected || type === "opaqueredirect" || (status >= 300 && status < 400)) {
    return fail("service_failed", redirect, false);
  }
  if (status === 401 || status === 403) {
    const problem = `answered ${status}: the API key is not accepted, check apiKey`;
    return fail("service_refused", problem, false);
  }
  const retryable = [408, 425, 429].includes(status) || status >= 500;
  if (isPage(exchange)) return fail("service_failed", `answered ${status} ${withPage}`, retryable);
  if (!taken) {
    return fail("service_failed", `answered ${status}, which is no documented outcome`, retryable);
  }
  // The service took the call: repeating it may do it twice.
  const problem = `answered ${status}, then broke off${codeOf(cause)}: it is done, or will be`;
  return fail("service_unreachable", problem, false);
}

const unsent = "was not sent, for there is no global fetch: give createClient the option fetch";
const redirect =
  "was answered with a redirect, which is not followed: set baseUrl to where it leads";
const withPage =
  "with an HTML page, which is not the service: check baseUrl, and what is in between (a proxy, a login)";

function statusOf({ response }: Exchange): { readonly status?: number } {
  return response?.status ? { status: response.status } : {};
}

/** The code of an error or of its causes, in brackets. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  return "code" in error && typeof error.code === "string"
    ? ` (${error.code})`
    : codeOf(error.cause);
}

function parseRetryAfter(header: string | null): number | undefined {
  const text = header?.trim() ?? "";
  const ms = /^[+-]?\d+$/.test(text)
    ? Number(text) * 1_000
    : // Only with a weekday: Date.parse makes dates of much that is none.
      /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)
      ? Date.parse(text.endsWith(" GMT") ? text : `${text} GMT`) - Date.now()
      : Number.NaN;
  return Number.isSafeInteger(ms) ? Math.max(ms, 0) : undefined;
}
