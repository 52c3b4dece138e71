import { ServiceError, type ServiceErrorCode, type ServiceErrorDetails } from "../errors.ts";
import { createRedactor, type Redactor, type Secrets } from "../lib/redact.ts";
import { type BodyText, type FetchResponse, isHtmlPage, readBody } from "./read-body.ts";
import { untraced } from "./untraced.ts";

/** What `fetch` is called with. */
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
  /** Left out, the global one at each call. */
  readonly fetch: Fetch | undefined;
  /** For all of it: getting the key, the answer and the answer's body. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly apiKey: () => string | Promise<string>;
  /** Where the key goes and what else is sent. */
  readonly request: (apiKey: string) => {
    readonly query?: string;
    readonly headers: Record<string, string>;
    readonly body?: string;
  };
  /** What of it no error may show, beside the key. */
  readonly secrets: Secrets;
  /** Whether the status is one that the operation can end with. */
  readonly expects: (status: number) => boolean;
  /** Whether such a status says all: its body may break off, or never end. */
  readonly statusOnly?: boolean;
}

/** An expected answer: its status, and its body (parsed JSON, else text) without the API key. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const maxErrorText = 2_048;

/**
 * Makes one call, once, and reads the answer to its end so that the connection is used again.
 *
 * @throws ServiceError for every other answer, none, or none in time; `signal.reason` if the caller aborts.
 */
export async function callService(call: ServiceCall): Promise<Answer> {
  let status: number | undefined;
  let waitingFor = "The function given as apiKey returned no key, and nothing was sent,";
  let taken: number | undefined;
  let answer: Received | undefined;
  const timedOut = () =>
    new ServiceError("service_timeout", `${waitingFor} within ${call.timeoutMs} ms (timeoutMs)`, {
      ...(status && { status }),
      retryable: !taken,
    });

  const called = withDeadline(call.timeoutMs, call.signal, timedOut, async (signal) => {
    const key = await call.apiKey();
    signal.throwIfAborted();
    const redactor = createRedactor(key);
    const fetch: Fetch | undefined = call.fetch ?? globalThis.fetch;
    if (typeof fetch !== "function") throw unsent(call, redactor);
    const asked = `POST ${redactor.text(call.endpoint)}`;
    waitingFor = `${asked} was not answered`;
    const { query = "", headers, body } = call.request(key);
    const init: FetchInit = {
      method: "POST",
      headers,
      ...(body !== undefined && { body }),
      redirect: "manual",
      signal,
    };
    try {
      const send = () => fetch(call.endpoint + query, init);
      const response = await (query === "" ? send() : untraced(send));
      status = response.status === 0 ? undefined : response.status;
      if (!response.redirected && call.expects(response.status)) taken = status;
      waitingFor = `${asked} answered ${status}, but did not end`;
      answer = { response, text: "" };
      await readBody(response, answer, signal);
    } catch (thrown) {
      if (!answer) throw unreachable(call, createRedactor(key, call.secrets), thrown);
      answer.broken = { by: thrown };
    }
    if (!taken || isPage(answer)) throw refused(call, createRedactor(key, call.secrets), answer);
    if (answer.broken) {
      throw unreachable(call, createRedactor(key, call.secrets), answer.broken.by, answer);
    }
    return { status: taken, body: parse(answer.text, redactor) };
  });
  return await called.catch((error) => {
    if (!taken || !call.statusOnly || call.signal?.aborted) throw error;
    if (answer && isPage(answer)) throw error;
    return { status: taken, body: "" };
  });
}

interface Received extends BodyText {
  readonly response: FetchResponse;
  /** What ended the body before its end. */
  broken?: { readonly by: unknown };
}

/** A page says nothing of what was asked. A refusal may come as one: that is how many frameworks make theirs. */
function isPage({ response, text }: Received): boolean {
  return response.status < 300 && isHtmlPage(response, text);
}

async function withDeadline<T>(
  timeoutMs: number,
  caller: AbortSignal | undefined,
  timedOut: () => Error,
  work: (signal: AbortSignal) => Promise<T>,
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
  const timer = setTimeout(() => end(timedOut()), timeoutMs);
  caller?.addEventListener("abort", onAbort);
  try {
    return await Promise.race([work(controller.signal), ended]);
  } finally {
    clearTimeout(timer);
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

/** Once it answered 2xx, the service took what it was sent: the same call once more may have it done twice. */
function unreachable(
  call: ServiceCall,
  redactor: Redactor,
  thrown: unknown,
  answer?: Received,
): ServiceError {
  const cause = redactor.error(thrown);
  let code: unknown;
  for (let at: unknown = cause; at instanceof Error && code === undefined; at = at.cause) {
    code = "code" in at ? at.code : undefined;
  }
  const why = typeof code === "string" ? ` (${code})` : "";
  const status = answer?.response.status;
  const problem = status
    ? `answered ${status}, then broke off${why}: it is done, or will be`
    : `got no answer${why}: check baseUrl`;
  return failure(call, redactor, "service_unreachable", problem, {
    ...(status && { status, ...bodyOf(answer, redactor) }),
    ...{ retryable: !status, cause },
  });
}

function unsent(call: ServiceCall, redactor: Redactor): ServiceError {
  const problem = "was not sent, for there is no global fetch: give createClient the option fetch";
  return failure(call, redactor, "service_unreachable", problem, { retryable: false });
}

function bodyOf(answer: Received | undefined, redactor: Redactor): { readonly body?: unknown } {
  return answer?.text ? { body: parse(redactor.text(answer.text, maxErrorText), redactor) } : {};
}

function refused(call: ServiceCall, redactor: Redactor, answer: Received): ServiceError {
  const { status, type, redirected, headers } = answer.response;
  const redirect = redirected || type === "opaqueredirect" || (status >= 300 && status < 400);
  const denied = !redirect && (status === 401 || status === 403);
  const problem = redirect
    ? "was answered with a redirect, which is not followed: set baseUrl to where it leads"
    : denied
      ? `answered ${status}: the API key is not accepted, check apiKey`
      : isPage(answer)
        ? `answered ${status} with an HTML page, which is not the service: check baseUrl, and what is in between (a proxy, a login)`
        : `answered ${status}, which is no documented outcome`;
  const retryAfterMs = parseRetryAfter(headers.get("retry-after"));
  return failure(call, redactor, denied ? "service_refused" : "service_failed", problem, {
    ...(status !== 0 && { status }),
    ...bodyOf(answer, redactor),
    retryable: !redirect && ([408, 425, 429].includes(status) || status >= 500),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

function failure(
  call: ServiceCall,
  redactor: Redactor,
  code: ServiceErrorCode,
  problem: string,
  details: ServiceErrorDetails,
): ServiceError {
  return new ServiceError(code, `POST ${redactor.text(call.endpoint)} ${problem}`, details);
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
