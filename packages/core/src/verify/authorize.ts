import { contextOf } from "../callback-urls/callback-url.ts";
import type { Authorization, Authorizer } from "../client/authorizer.ts";
import { checkHeaderValue, unsendable } from "../client/client-options.ts";
import { responseIn } from "../client/service-response.ts";
import type { Job } from "../inbox/delivery.ts";
import type { StopSignal } from "../lib/abort.ts";
import { safeGet, safeText, tryGet } from "../lib/safe-get.ts";
import { chainOf } from "../lib/thrown.ts";
import type { Clock } from "../lib/time/clock.ts";
import { withSignal, withTimeout } from "../lib/time/timeout.ts";

/** Time limit of an authorize call in milliseconds, in addition to the client's. */
const authorizeMs = 30_000;

const lateMessage = `authorize gave no answer within ${authorizeMs} ms`;
const late = (): Error => Object.assign(new Error(lateMessage), { code: "ETIMEDOUT" });

/** Asks the service once. Never rejects, never guesses. */
export function authorizeOnce(
  client: Authorizer,
  job: Pick<Job, "signature" | "url" | "headers" | "context">,
  clock: Clock,
  parent: StopSignal,
): Promise<Authorization> {
  const { signature, url, headers } = job;
  return withTimeout({ clock, ms: authorizeMs, late, parent }, (scope) =>
    client.authorize(
      signature ?? "",
      withSignal(scope, { delivery: { url, headers, context: contextOf(job) } }),
    ),
  ).then(authorizationOf, (error) => authorizationOfError(error, canBeSent(signature)));
}

function authorizationOf(verdict: unknown): Authorization {
  if (verdict === "valid" || verdict === "invalid" || verdict === "expired") return { verdict };
  return authorizationOfError(
    new TypeError('authorize must resolve to "valid", "invalid" or "expired"'),
  );
}

/** Whether a header can carry the signature: one of an app's own function may be any text. */
function canBeSent(signature: string | null): boolean {
  return tryGet(() => [checkHeaderValue(signature, "")]) !== undefined;
}

function authorizationOfError(error: unknown, isSendable = true): Authorization {
  const code = safeGet(error, "code");
  const retryAfterMs = safeGet(error, "retryAfterMs");
  const status = statusIn(error);
  const isUnauthorized = code === "service_refused" || status === 401 || status === 403;
  const isUnsendable = code === unsendable && !isSendable;
  const isBadRequest = status === 400 || status === 404 || status === 422 || isUnsendable;
  const why = isUnauthorized
    ? "unauthorized"
    : isBadRequest
      ? "bad_request"
      : isUnavailable(error, status)
        ? "unavailable"
        : "unknown";
  const asked = typeof retryAfterMs === "number" && retryAfterMs > 0 ? retryAfterMs : 0;
  const hasAnswered = status !== undefined;
  return { verdict: null, why, hasAnswered, error, retryAfterMs: asked };
}

/** The status that the service answered with: of a `ServiceError`, or of an error of another client. */
function statusIn(error: unknown): number | undefined {
  const ours = chainOf(error).map((link) => safeGet(link, "serviceStatus"));
  const status = ours.find((each) => typeof each === "number");
  return (status as number | undefined) ?? responseIn(error)?.status;
}

function isUnavailable(error: unknown, status: number | undefined): boolean {
  if (typeof status === "number") return [408, 425, 429, 502, 503, 504].includes(status);
  return isNetworkFailure(error);
}

// The codes of Node, undici, Bun and other clients.
const networkCodes =
  /^(E(CONN(REFUSED|RESET|ABORTED)|(SOCKET)?TIMEDOUT|NOTFOUND|AI_AGAIN|PIPE|PROTO|(HOST|NET)(UNREACH|DOWN))|ERR_(NETWORK|TLS_\w+|SSL_\w+)|UND_ERR_\w+|Connection\w+|FailedToOpenSocket|service_(unreachable|timeout))$/;
const certificateCodes =
  /^(CERT_\w+|(DEPTH_ZERO_)?SELF_SIGNED_CERT\w*|UNABLE_TO_\w+|HOSTNAME_MISMATCH)$/;

/** Whether no answer came; any other error of authorize concerns this one delivery. */
function isNetworkFailure(error: unknown): boolean {
  return chainOf(error).some((link) => {
    const name = safeText(link, "name");
    // fetch gives a network error a cause; without one it could not send this signature.
    if (name === "TypeError" && safeGet(link, "cause") !== undefined) return true;
    return (
      name === "TimeoutError" ||
      name === "AbortError" ||
      [networkCodes, certificateCodes].some((codes) => codes.test(safeText(link, "code") ?? ""))
    );
  });
}
