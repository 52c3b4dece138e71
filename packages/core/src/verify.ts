import type { StopSignal } from "./abort.ts";
import { contextOf } from "./callback.ts";
import type { DeliveryInfo, Verdict } from "./client/client.ts";
import type { Clock } from "./clock.ts";
import type { Job } from "./delivery.ts";
import type { ErrorCode } from "./errors.ts";
import { within } from "./within.ts";

/** What `createReceiver` needs of a client. */
export interface Authorizer {
  /** The verdict on a signature; anything else that it does is no verdict, and asked again. */
  authorize(
    signature: string,
    options: { readonly delivery: DeliveryInfo; readonly signal: AbortSignal },
  ): Promise<Verdict>;
}

/**
 * The answer to an authorize call, or why there is none: `refused` (401, 403: our key), `odd` (400, 404, 422: this one
 * signature), `silent` (no connection, no answer in time, 408, 425, 429, 502, 503, 504: whatever the signature), `failed`
 * (anything else, such as 500: it may be the signature).
 */
export type Authorization =
  | { readonly verdict: Verdict }
  | {
      readonly verdict: null;
      readonly why: "refused" | "odd" | "silent" | "failed";
      readonly error: unknown;
      readonly retryAfterMs: number;
    };

/** Milliseconds after which an authorize call is given up, whatever the client's own limit. */
const authorizeMs = 30_000;

/** Asks the service once. Never rejects, never guesses. */
export async function verify(
  client: Authorizer,
  job: Pick<Job, "signature" | "url" | "headers" | "context">,
  clock: Clock,
  parent: StopSignal,
): Promise<Authorization> {
  const { signature, url, headers } = job;
  const late = `authorize gave no answer within ${authorizeMs} ms`;
  try {
    const verdict = await within({ clock, ms: authorizeMs, late, parent }, (scope) =>
      client.authorize(signature ?? "", {
        get signal() {
          return scope.signal;
        },
        delivery: { url, headers, context: contextOf(job) },
      }),
    );
    if (verdict === "valid" || verdict === "invalid" || verdict === "expired") return { verdict };
    throw new TypeError('authorize must resolve to "valid", "invalid" or "expired"');
  } catch (error) {
    return noVerdict(error);
  }
}

function noVerdict(error: unknown): Authorization {
  const { code, status, retryAfterMs } = (error ?? {}) as {
    code?: ErrorCode;
    status?: number;
    retryAfterMs?: unknown;
  };
  const refused = code === "service_refused" || status === 401 || status === 403;
  const odd = status === 400 || status === 404 || status === 422;
  const why = refused ? "refused" : odd ? "odd" : isSilence(error, status) ? "silent" : "failed";
  const asked = typeof retryAfterMs === "number" && retryAfterMs > 0 ? retryAfterMs : 0;
  return { verdict: null, why, error, retryAfterMs: asked };
}

function isSilence(error: unknown, status: number | undefined): boolean {
  if (typeof status === "number") return [408, 425, 429, 502, 503, 504].includes(status);
  // Without a cause it is not fetch that has thrown it, but who could not make the call with this signature.
  return error instanceof Error && !(error instanceof TypeError && error.cause === undefined);
}
