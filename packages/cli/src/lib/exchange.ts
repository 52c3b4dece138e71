/** The result of a request to an endpoint. */
export type Exchange = EndpointAnswer | NoAnswer;

/** An answer. */
export interface EndpointAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Its first 64 KiB. */
  readonly body: string;
  readonly ms: number;
}

interface NoAnswer {
  readonly status: null;
  readonly error: string;
  /** The connection was refused. */
  readonly isRefused: boolean;
  /** The service would have given up. */
  readonly isLate: boolean;
  readonly ms: number;
}

/** A request like the service's. */
export interface Outgoing {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The service's limit for an answer (the service's document, section Limits), in milliseconds. */
const answerTimeMs = 5_000;
const maxBytes = 65_536;

/** Sends one request; it never rejects. Redirects are not followed: a 3xx is not 2xx. */
export async function exchange(
  url: string,
  outgoing: Outgoing,
  patienceMs: number = answerTimeMs,
): Promise<Exchange> {
  const from = performance.now();
  const passed = (): number => performance.now() - from;
  try {
    const response = await fetch(url, {
      method: "POST",
      ...outgoing,
      redirect: "manual",
      signal: AbortSignal.timeout(patienceMs),
    });
    const body = await textOf(response);
    return { status: response.status, headers: response.headers, body, ms: passed() };
  } catch (error) {
    const { name, code = "", message } = innermost(error as NetworkError);
    const isLate = name === "TimeoutError";
    const isUntrusted = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code);
    const reason = isLate
      ? `no answer within ${answerTimeMs / 1_000} seconds`
      : isUntrusted
        ? `its certificate is not trusted (${code}): the service would refuse it too`
        : (known[code] ?? `unreachable (${code || message})`);
    return {
      status: null,
      error: reason,
      isRefused: code === "ECONNREFUSED",
      isLate,
      ms: passed(),
    };
  }
}

/** Whether the notification was delivered: answered 2xx within 5 seconds (the service's document, section Events). */
export function isDelivered({ status }: Pick<Exchange, "status">): boolean {
  return status !== null && status >= 200 && status <= 299;
}

/** The answer's JSON, or its text. */
export function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** The JSON object in a text; null if there is none. */
export function objectIn(text: string): Record<string, unknown> | null {
  const value = parsed(text);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : null;
}

/** The `code` of a receiver's answer. */
export function codeOf(answer: Exchange): string | null {
  const { code } = parsedBody(answer);
  return typeof code === "string" ? code : null;
}

/** The answer's JSON object, else an empty object. */
export function parsedBody(answer: Exchange): Record<string, unknown> {
  return (answer.status === null ? null : objectIn(answer.body)) ?? {};
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = maxBytes;
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes.subarray(0, left), { stream: true });
    left -= bytes.byteLength;
    if (left <= 0) break;
  }
  return text;
}

const known: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused (ECONNREFUSED): start the app, or check host and port",
  ENOTFOUND: "host not found (ENOTFOUND): check the name",
  EAI_AGAIN: "host lookup failed (EAI_AGAIN): try again later",
  ECONNRESET: "the connection was closed before the answer (ECONNRESET)",
  UND_ERR_SOCKET: "the connection was closed before the answer",
  EPIPE: "the connection was closed before the answer (EPIPE)",
};

type NetworkError = Error & { readonly code?: string; readonly errors?: readonly unknown[] };

function innermost(error: NetworkError): NetworkError {
  // A host with several addresses gives one error for each.
  const inner = error.cause ?? error.errors?.[0];
  const isLast = error.name === "TimeoutError" || inner === undefined;
  return isLast ? error : innermost(inner as NetworkError);
}
