import { inspect } from "./lib/validate.ts";

/** A stable word for each failure, to switch on; every error made here carries one as `code`. */
export type ErrorCode =
  | "service_unreachable"
  | "service_timeout"
  | "service_refused"
  | "service_failed"
  | "invalid_report_request"
  | "already_started"
  | "closed"
  | "not_found"
  | "not_releasable"
  | "not_parked"
  | "not_searchable"
  | "inbox_failed"
  | "overloaded"
  | "schema_mismatch"
  | "handler_timeout"
  | "not_idle"
  | "idempotency_key_reused"
  | "wait_timeout";

/** The part of {@link ErrorCode} that a call of the service can fail with. */
export type ServiceErrorCode = Extract<ErrorCode, `service_${string}`>;

/**
 * An error of this library: `code` is stable, `message` says the way out.
 *
 * @example
 * await receiver.idle().catch((error: unknown) => {
 *   if (!(error instanceof ReporthookError && error.code === "not_idle")) throw error;
 *   console.warn(error.message);
 * });
 */
export class ReporthookError extends Error {
  override readonly name: string = "ReporthookError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
brand(ReporthookError, "ReporthookError");

/** Gives null for what an inbox can't look for, as queues can't for the deliveries of a request, and throws any other error. */
export function ifNotSearchable(error: unknown): null {
  if (error instanceof ReporthookError && error.code === "not_searchable") return null;
  throw error;
}

/** Details of a failed call to the service. */
export interface ServiceErrorDetails {
  /** HTTP status of the answer; absent when there was none. Not `status`, with which frameworks would answer your customer. */
  readonly serviceStatus?: number;
  /** The answer's body (parsed JSON, else text), cut at 2 KiB of text. */
  readonly body?: unknown;
  /** False if certainly nothing was sent to the service; true when left out. */
  readonly sent?: boolean;
  /** Whether the same call may succeed later without a change on our side. A call without an answer may have succeeded. */
  readonly retryable: boolean;
  /** The wait the service asked for with `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The error underneath, with every trace of the API key removed. */
  readonly cause?: unknown;
}

/**
 * A call to the service without a usable answer (document, section "Errors").
 *
 * `service_unreachable`: no connection, or the connection broke; `service_timeout`: no whole answer in time; `service_refused`:
 * 401 or 403; `service_failed`: any other answer that the document does not list.
 *
 * @example
 * await client.testWebhook("https://app.example/webhooks/reports").catch((error: unknown) => {
 *   if (!(error instanceof ServiceError && error.retryable)) throw error;
 *   console.warn(`Try again in ${error.retryAfterMs ?? 60_000} ms`);
 * });
 */
export class ServiceError extends ReporthookError {
  override readonly name: string = "ServiceError";
  declare readonly code: ServiceErrorCode;
  declare readonly serviceStatus?: number;
  declare readonly body?: unknown;
  /** False if certainly nothing was sent to the service. */
  readonly sent: boolean;
  declare readonly retryable: boolean;
  declare readonly retryAfterMs?: number;
  /** The request of `receiver.reports` that stays `unconfirmed`: the service may have it. */
  declare readonly requestId?: string;

  constructor(code: ServiceErrorCode, message: string, details: ServiceErrorDetails) {
    const { cause, sent = true, ...others } = details;
    super(code, message, cause === undefined ? undefined : { cause });
    this.sent = sent;
    Object.assign(this, others);
  }
}
brand(ServiceError, "ServiceError");

/** One thing wrong with a report request. */
export interface ReportRequestProblem {
  /** The wire's field name, with an index for an element: `domains[2]`. */
  readonly field: string;
  /** The problem, and a value that would be right. */
  readonly message: string;
}

/**
 * A report request that was not sent, with every problem in it (document, section "Request a report").
 *
 * @example
 * await client.requestReport(report).catch((error: unknown) => {
 *   if (!(error instanceof InvalidReportRequestError)) throw error;
 *   for (const { field, message } of error.problems) console.error(`${field}: ${message}`);
 * });
 */
export class InvalidReportRequestError extends ReporthookError {
  override readonly name: string = "InvalidReportRequestError";
  declare readonly code: "invalid_report_request";
  /** The status with which frameworks answer the request that led to it. */
  readonly status = 400;
  readonly problems: readonly ReportRequestProblem[];

  constructor(problems: readonly ReportRequestProblem[]) {
    const list = problems.map(({ field, message }) => `${field}: ${message}`).join("; ");
    super("invalid_report_request", `The request was not sent. ${list}.`);
    this.problems = problems;
  }
}
brand(InvalidReportRequestError, "InvalidReportRequestError");

/**
 * Thrown by a handler to park its delivery as `dead` at once.
 *
 * @example throw new DoNotRetry("the customer was deleted");
 */
export class DoNotRetry extends Error {
  override readonly name: string = "DoNotRetry";

  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
  }

  /** Whether `error` is one, also when it comes from another copy of this package. */
  static is(error: unknown): error is DoNotRetry & { readonly name: "DoNotRetry" } {
    return error instanceof DoNotRetry;
  }
}
brand(DoNotRetry, "DoNotRetry");

/**
 * Thrown by a handler to set the time of its next attempt: milliseconds from now, or a date.
 *
 * @example throw new RetryAfter(60_000);
 */
export class RetryAfter extends Error {
  override readonly name: string = "RetryAfter";
  /** Milliseconds from now, or the moment itself. */
  readonly when: number | Date;

  constructor(when: number | Date, options?: ErrorOptions) {
    // By its method, for a Date of another realm is one as well.
    const ms = typeof when === "number" ? when : (when as Partial<Date> | null)?.getTime?.();
    if (!Number.isFinite(ms)) {
      throw new TypeError(`RetryAfter takes milliseconds or a valid Date, not ${inspect(when)}`);
    }
    const text = typeof when === "number" ? `in ${when} ms` : `at ${when.toISOString()}`;
    super(`The handler asked to be tried again ${text}`, options);
    this.when = when;
  }

  /** Whether `error` is one, also when it comes from another copy of this package. */
  static is(error: unknown): error is RetryAfter {
    return error instanceof RetryAfter;
  }
}
brand(RetryAfter, "RetryAfter");

type ErrorClass = abstract new (...args: never[]) => Error;

/**
 * Has `instanceof` hold for errors of another copy of this package, too, as a bundle beside an external one brings it: by a
 * brand, which all copies share. It throws for nothing, not even for a revoked proxy.
 */
function brand(of: ErrorClass, name: string): void {
  const key = Symbol.for(`reporthook.${name}`);
  Object.defineProperty(of.prototype, key, { value: true });
  Object.defineProperty(of, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      try {
        // A class that extends it has no brand.
        if (this !== of) return Function.prototype[Symbol.hasInstance].call(this, value);
        return typeof value === "object" && value !== null && key in value;
      } catch {
        return false;
      }
    },
  });
}
