import type { DeliveryInfo, Verdict } from "./client.ts";

/** What `createReceiver` needs of a client. */
export interface Authorizer {
  /** The verdict on a signature, `"invalid"` for whom it does not know; anything else that it does is no verdict, and asked again. */
  authorize(
    signature: string,
    options: { readonly delivery: DeliveryInfo; readonly signal: AbortSignal },
  ): Promise<Verdict>;
}

/**
 * Why there is no verdict: `refused` (401, 403: our key, or this one signature), `odd` (400, 404, 422: this one signature),
 * `silent` (no connection, no answer in time, 408, 425, 429, 502, 503, 504: whatever the signature), `failed` (anything else,
 * such as 500 or what authorize throws by itself: it may be the signature).
 */
export type WithoutVerdict = "refused" | "odd" | "silent" | "failed";

/** The answer to an authorize call, or why there is none. */
export type Authorization =
  | { readonly verdict: Verdict }
  | {
      readonly verdict: null;
      readonly why: WithoutVerdict;
      readonly error: unknown;
      readonly retryAfterMs: number;
    };
