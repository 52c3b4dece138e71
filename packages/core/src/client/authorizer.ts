import type {
  DeliveryInfo,
  ReportRequest,
  RequestReportOptions,
  ServiceAnswer,
  Verdict,
} from "./client.ts";

/** The part of a client that `createReceiver` needs. */
export interface Authorizer {
  /**
   * Resolves to the verdict on a signature, `"invalid"` for an unknown one. Any other result is no verdict, and the receiver asks
   * again.
   */
  authorize(
    signature: string,
    options: { readonly delivery: DeliveryInfo; readonly signal: AbortSignal },
  ): Promise<Verdict>;
  /** Asks for a report, for `receiver.reports`. */
  requestReport?(report: ReportRequest, options: RequestReportOptions): Promise<ServiceAnswer>;
}

/**
 * Why there is no verdict:
 * - `unauthorized` (401, 403): the service refuses the API key, or this one signature
 * - `bad_request` (400, 404, 422, or nothing was sent, as no header can carry it): the service can't read this one signature
 * - `unavailable` (no connection, no answer in time, 408, 425, 429, 502, 503, 504): independent of the signature
 * - `unknown` (anything else, such as 500, no key to ask with, or an error that authorize throws): the signature, or the delivery,
 *   may be the cause
 */
export type WhyNoVerdict = "unauthorized" | "bad_request" | "unavailable" | "unknown";

/** Why there is no verdict about any signature: the service refuses the API key, or does not answer. */
export type Outage = Extract<WhyNoVerdict, "unauthorized" | "unavailable">;

/** The answer to an authorize call, or why there is none. */
export type Authorization =
  | { readonly verdict: Verdict }
  | {
      readonly verdict: null;
      readonly why: WhyNoVerdict;
      /** Whether the service answered. */
      readonly hasAnswered: boolean;
      readonly error: unknown;
      readonly retryAfterMs: number;
    };
