import type { RequestedReport, ServiceAnswer } from "../client/client.ts";

/** The values of a report's status (document, section "Report status"). */
export type ReportStatus = "processing" | "complete" | "internal_error";

/** The type of a notification. */
export type NotificationType = "test_webhook_endpoint" | `report.${ReportStatus}` | "unknown";

/** The type of an event, always specific: that of a notification, or `report.overdue`, which comes from the receiver itself. */
export type EventType = NotificationType | "report.overdue";

/** The names that `on` takes: an event type, `report` for any status, `*` for everything. */
export type EventName = EventType | "report" | "*";

/** The verification of a delivery's origin: authorized, authorized too late, never signed, or told by `reports.settle`. */
export type Verification = "valid" | "expired" | "unsigned" | "settled";

/** A validator of the Standard Schema specification, version 1 (zod, valibot, arktype and others have it). */
export interface Schema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}

/** The result of a {@link Schema}: a value, or the issues. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** One mismatch between a body and its {@link Schema}. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Schemas by event type, as `createReceiver` takes them. */
export type Schemas = { readonly [Type in NotificationType]?: Schema };

/** No schema for any type. */
export type NoSchemas = { readonly [Type in NotificationType]?: never };

/** The body of an event of this type: its schema's output, else any JSON object. */
export type BodyOf<Type extends NotificationType, S extends Schemas> = [S[Type]] extends [never]
  ? Readonly<Record<string, unknown>>
  : S[Type] extends Schema<infer Output>
    ? Output
    : Readonly<Record<string, unknown>>;

interface Common<Type extends NotificationType, Context, S extends Schemas> {
  /** The delivery's id, the same at every attempt: use it as the idempotency key, or give the event to `once`. */
  readonly id: string;
  /** Always the specific type, also under `report` and `*`. */
  readonly type: Type;
  /** `event_type` as it came, or null. */
  readonly eventType: string | null;
  /** The time of receipt. */
  readonly receivedAt: Date;
  /** The verdict; `expired` and `unsigned` only once a person has released it, or an option lets it in. */
  readonly verification: Verification;
  /** The notification's JSON object, or its schema's output. */
  readonly body: BodyOf<Type, S>;
  /** The context of the request, or of the callback URL; absent without a valid token. */
  readonly context?: Context;
}

/** A test of the webhook address (document, section "Test a webhook address"). */
export interface TestEvent<Context = unknown, S extends Schemas = NoSchemas>
  extends Common<"test_webhook_endpoint", Context, S> {
  /** The confirmation text. */
  readonly payload: string;
}

/** A report's status changed (document, section "Events"; the body's shape is not shown there). */
export interface ReportEvent<
  Status extends ReportStatus,
  Context = unknown,
  S extends Schemas = NoSchemas,
> extends Common<`report.${Status}`, Context, S> {
  /** The status of the report. */
  readonly status: Status;
  /** Read beside the status; null when the notification names none. */
  readonly reportId: string | null;
  /** The request of `receiver.reports` that its callback URL was made for; null for any other. */
  readonly requestId: string | null;
}

/** A request of `receiver.reports` is due, and its report is neither complete nor failed. */
export interface OverdueEvent<Context = unknown> {
  /** The same at every attempt. */
  readonly id: string;
  readonly type: "report.overdue";
  readonly requestId: string;
  /** The report that was asked for. */
  readonly report: RequestedReport;
  /** The service's answer to the request; null if it is not known. */
  readonly answer: ServiceAnswer | null;
  /** The context of the request; undefined without. */
  readonly context?: Context | undefined;
  readonly requestedAt: Date;
  readonly dueAt: Date;
  /** Whether the service is known to have the request. */
  readonly confirmed: boolean;
  /** The last status that was told. */
  readonly lastStatus: "processing" | null;
  /** Read in a notification; null without one that names it. */
  readonly reportId: string | null;
  /** When it was noticed. */
  readonly receivedAt: Date;
  readonly eventType: null;
  readonly verification: null;
  readonly body: null;
}

/** A genuine notification of an unknown type. */
export interface UnknownEvent<Context = unknown, S extends Schemas = NoSchemas>
  extends Common<"unknown", Context, S> {}

/** Every event by its type. */
interface EventsByType<Context, S extends Schemas> {
  test_webhook_endpoint: TestEvent<Context, S>;
  "report.processing": ReportEvent<"processing", Context, S>;
  "report.complete": ReportEvent<"complete", Context, S>;
  "report.internal_error": ReportEvent<"internal_error", Context, S>;
  "report.overdue": OverdueEvent<Context>;
  unknown: UnknownEvent<Context, S>;
}

/** The event types that a name stands for. */
export type TypesOf<Name extends EventName> = Name extends "*"
  ? EventType
  : Name extends "report"
    ? `report.${ReportStatus}`
    : Extract<Name, EventType>;

/**
 * The event of a handler registered under `Name`. With `Required`, as of a receiver with `callback: { require: true }`, every
 * report has a context. Only a released one that came without a token has none: let the type of the context allow `undefined` if
 * you release such.
 */
export type EventOf<
  Name extends EventName = "*",
  Context = unknown,
  S extends Schemas = NoSchemas,
  Required extends boolean = false,
> = Required extends true
  ? {
      [Type in TypesOf<Name>]: EventsByType<Context, S>[Type] &
        (Type extends `report.${string}` ? { readonly context: Context } : unknown);
    }[TypesOf<Name>]
  : EventsByType<Context, S>[TypesOf<Name>];

/** The second argument of a handler. */
export interface HandlerContext {
  /** Aborted when the attempt has taken `handlerTimeoutMs`, and when `close` runs out of time. */
  readonly signal: AbortSignal;
  /** 1 at the first attempt. */
  readonly attempt: number;
}

/**
 * Runs after the acknowledgement, in the async context in which the receiver was made; a rejection is tried again, see
 * {@link DoNotRetry} and {@link RetryAfter}. For a receiver
 * with schemas whose output is a class or an interface name them, too: `Handler<"report.complete", unknown, typeof schemas>`.
 */
export type Handler<
  Name extends EventName = "*",
  Context = unknown,
  S extends Schemas = NoSchemas,
> = (event: EventOf<Name, Context, S>, context: HandlerContext) => void | Promise<void>;

/** All names that `on` takes: the types in the order of a report's life, then those that stand for several. */
export const eventNames: readonly EventName[] = [
  "test_webhook_endpoint",
  "report.processing",
  "report.complete",
  "report.internal_error",
  "report.overdue",
  "unknown",
  "report",
  "*",
];

/** Whether a handler registered under `name` is given events of `type`. */
export function matches(name: EventName, type: EventType): boolean {
  const isStatus = type.startsWith("report.") && type !== "report.overdue";
  return name === type || name === "*" || (name === "report" && isStatus);
}
