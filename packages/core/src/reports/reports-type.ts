import type { RequestedReport } from "../client/client.ts";
import type { RequestCounts, RequestState } from "../inbox/request-store.ts";
import type { Requested } from "../observe/instrumentation.ts";
import type { FinalStatus, RequestRecord } from "./request.ts";

/** Options of {@link ReportRequests.request}. */
export interface RequestOptions<Context = unknown> {
  /** Comes back with each event of the report: anything that JSON can hold. It stays in the inbox. */
  readonly context?: Context | undefined;
  /**
   * 1 to 200 characters: the same key is not sent again while the inbox keeps its request, by default 7 days after its end. A call
   * waits for the one that sends it, for 2 seconds at most if that is in another process.
   */
  readonly idempotencyKey?: string | undefined;
  /** Milliseconds after which `report.overdue` tells that no final status came: `callback.overdueMs`. */
  readonly overdueMs?: number | undefined;
  /** Aborts the call of the service; the request then stays `unconfirmed`, unless nothing was sent. */
  readonly signal?: AbortSignal | undefined;
  /** Sends the `unconfirmed` request with this key again: the service may charge it twice. */
  readonly resend?: boolean | undefined;
}

/** Options as the last argument: with `Required` they have a context, unless its type allows `undefined`. */
export type WithContext<Options, Context, Required extends boolean> = Required extends true
  ? undefined extends Context
    ? [options?: Options]
    : [options: Options & { readonly context: Context }]
  : [options?: Options];

/**
 * Reports that are asked for, and followed to the end. The inbox remembers each request before it is sent. The methods reject
 * with a TypeError for wrong arguments, and where an option or the inbox does not allow it.
 */
export interface ReportRequests<Context = unknown, Required extends boolean = false> {
  /**
   * Asks for a report, with a callback URL made for this request. Rejects with what the client throws. After a clear refusal
   * nothing is left; after any other failure the service may have the request: the error has its `requestId`, is not `retryable`,
   * and the request stays `unconfirmed`. Rejects `idempotency_key_reused` for a key of another report or context.
   *
   * @example const { id } = await receiver.reports.request({ domains: ["example.com"] }, { context: { customer: "c-1" } });
   */
  request(
    report: RequestedReport,
    ...options: WithContext<RequestOptions<Context>, Context, Required>
  ): Promise<Requested>;
  /** One request, or null. */
  get(id: string): Promise<RequestRecord<Context> | null>;
  /** Oldest first, unless told; `overdue` is told as overdue and not settled; `limit` is 100 when left out. */
  list(query?: {
    readonly state?: RequestState | "overdue" | undefined;
    readonly newestFirst?: boolean | undefined;
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<RequestRecord<Context>[]>;
  /** The number of requests in each state, and of those that are overdue. */
  counts(): Promise<RequestCounts>;
  /**
   * Resolves to the request once it is `complete` or `internal_error`, in any process on the inbox. Rejects `not_found`,
   * `wait_timeout` after `timeoutMs` milliseconds, `closed`, or with the signal's reason. It keeps no process alive; `start()` does.
   * Not for handlers: the event that it waits for may need the slot of the handler that waits.
   */
  wait(
    id: string,
    options?: {
      readonly timeoutMs?: number | undefined;
      readonly signal?: AbortSignal | undefined;
    },
  ): Promise<RequestRecord<Context>>;
  /**
   * Tells a final status that no notification brought: its handlers run, with the verification `settled` and this body. Resolves
   * to whether it changed anything; rejects `not_found`.
   */
  settle(
    id: string,
    status: FinalStatus,
    options?: { readonly body?: object | undefined },
  ): Promise<boolean>;
}

/** The part of {@link ReportRequests} for which no receiver has to run. */
export type StoredReports = Omit<ReportRequests, "request">;
