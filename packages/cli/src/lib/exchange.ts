/** The answer of an endpoint; without one the status is null, and `error` tells why. */
export interface Exchange {
  readonly status: number | null;
  readonly headers: Headers;
  /** Its first 64 KiB. */
  readonly body: string;
  readonly error: string;
  /** The code of the error: of a timeout, after which the service would have given up, `TimeoutError`. */
  readonly cause: string;
  readonly ms: number;
}

/** The service's limit for an answer (the service's document, section Limits), in milliseconds. */
const answerTimeMs = 5_000;
const maxBytes = 65_536;

/** Sends one request; it never rejects. Redirects are not followed: a 3xx is not 2xx. */
export async function exchange(
  url: string,
  outgoing: RequestInit,
  patienceMs: number = answerTimeMs,
): Promise<Exchange> {
  const from = performance.now();
  const ended = (result: Partial<Exchange>): Exchange => ({
    status: null,
    headers: new Headers(),
    body: "",
    error: "",
    cause: "",
    ...result,
    ms: performance.now() - from,
  });
  try {
    const response = await fetch(url, {
      method: "POST",
      ...outgoing,
      redirect: "manual",
      signal: AbortSignal.timeout(patienceMs),
    });
    const { status, headers } = response;
    return ended({ status, headers, body: await textOf(response) });
  } catch (error) {
    const { name, code = "", message } = innermost(error as NetworkError);
    const cause = name === timeout ? name : code;
    const reason = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(cause)
      ? `its certificate is not trusted (${cause}): the service would refuse it too`
      : (known[cause] ?? `unreachable (${cause || message})`);
    return ended({ error: reason, cause });
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
export function parsedBody({ body }: Exchange): Record<string, unknown> {
  return objectIn(body) ?? {};
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

const timeout = "TimeoutError";
const known: Readonly<Record<string, string>> = {
  [timeout]: `no answer within ${answerTimeMs / 1_000} seconds`,
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
  const isLast = error.name === timeout || inner === undefined;
  return isLast ? error : innermost(inner as NetworkError);
}
