import type { Client, Verdict } from "./client.ts";
import { type Clock, quietTimeout } from "./clock.ts";
import type { Job } from "./delivery.ts";
import type { ErrorCode } from "./errors.ts";

/** What `createReceiver` needs of a client. */
export type Authorizer = Pick<Client, "authorize">;

/**
 * The answer to an authorize call, or why there is none: `refused` (401, 403: our key), `odd` (400, 404, 422: this one
 * signature), `silent` (no connection, no answer in time, 5xx, 429, anything else).
 */
export type Authorization =
  | { readonly verdict: Verdict }
  | {
      readonly verdict: null;
      readonly why: "refused" | "odd" | "silent";
      readonly error: unknown;
      readonly retryAfterMs: number;
    };

/** Milliseconds after which an authorize call is given up, whatever the client's own limit. */
const authorizeMs = 30_000;

/** Asks the service once. Never rejects, never guesses. */
export async function verify(
  client: Authorizer,
  job: Pick<Job, "signature" | "url" | "headers">,
  clock: Clock,
  signal: AbortSignal,
): Promise<Authorization> {
  const controller = new AbortController();
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => {
      const reason: unknown = signal.reason ?? new Error("The service gave no answer in time");
      controller.abort(reason);
      reject(reason);
    };
  });
  const timer = quietTimeout(clock, stop, authorizeMs);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
  try {
    const call = client.authorize(job.signature ?? "", {
      signal: controller.signal,
      delivery: { url: job.url, headers: job.headers },
    });
    const verdict = await Promise.race([call, stopped]);
    if (verdict === "valid" || verdict === "invalid" || verdict === "expired") return { verdict };
    throw new Error('authorize must resolve to "valid", "invalid" or "expired"');
  } catch (error) {
    return noVerdict(error);
  } finally {
    clock.clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}

function noVerdict(error: unknown): Authorization {
  const {
    code,
    status,
    retryAfterMs = 0,
  } = (error ?? {}) as {
    code?: ErrorCode;
    status?: number;
    retryAfterMs?: number;
  };
  const odd = status === 400 || status === 404 || status === 422;
  const why = code === "service_refused" ? "refused" : odd ? "odd" : "silent";
  return { verdict: null, why, error, retryAfterMs };
}
