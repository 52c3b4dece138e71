export type { StopSignal } from "./abort.ts";
export type { CallbackOptions } from "./callback.ts";
export { checkReceiver } from "./check-receiver.ts";
export type { Fetch, FetchInit } from "./client/call-service.ts";
export {
  type AuthorizeOptions,
  type Client,
  type ClientOptions,
  createClient,
  type DeliveryInfo,
  type ReportRequest,
  type ServiceAnswer,
  type Verdict,
} from "./client/client.ts";
export type { ReportAuth } from "./client/options.ts";
export type { FetchResponse } from "./client/read-body.ts";
export type { Metric } from "./client/report-request.ts";
export type { Clock } from "./clock.ts";
export type {
  Again,
  Arrival,
  Attempt,
  Entry,
  EntryDetails,
  Job,
  KeptHeaders,
  Left,
  NewDelivery,
  Outcome,
  Reason,
  ReasonCode,
  Recognized,
  Stage,
  State,
} from "./delivery.ts";
export {
  DoNotRetry,
  type ErrorCode,
  InvalidReportRequestError,
  ReporthookError,
  type ReportRequestProblem,
  RetryAfter,
  ServiceError,
  type ServiceErrorCode,
  type ServiceErrorDetails,
} from "./errors.ts";
export type {
  BodyOf,
  EventName,
  EventOf,
  EventType,
  Handler,
  HandlerContext,
  NoSchemas,
  ReportEvent,
  ReportStatus,
  Schema,
  SchemaIssue,
  SchemaResult,
  Schemas,
  TestEvent,
  UnknownEvent,
  Verification,
} from "./events.ts";
export type { FetchContext } from "./fetch.ts";
export { incomingFromRequest, toResponse } from "./fetch.ts";
export type { Health } from "./health.ts";
export type {
  Added,
  Consumer,
  Counts,
  Guarantees,
  Inbox,
  InboxHealth,
  InboxQuery,
  Load,
  Minute,
  Policy,
  ReleaseQuery,
  Summary,
  SummaryQuery,
  Work,
} from "./inbox.ts";
export type {
  Answer,
  BodyFailure,
  BodyReading,
  Incoming,
  IncomingHeaders,
} from "./incoming.ts";
export type { Logger } from "./log.ts";
export { type MemoryInboxOptions, memoryInbox } from "./memory/memory-inbox.ts";
export type { Observe } from "./observe.ts";
export type { Limits, ReceiverOptions } from "./options.ts";
export type { JsonObject, Parse, Parsed } from "./parse.ts";
export type { SignatureSource } from "./receive.ts";
export { createReceiver } from "./receiver.ts";
export type { ReceiverInbox } from "./receiver-inbox.ts";
export type { Receiver } from "./receiver-type.ts";
export type { RetentionOptions } from "./retention.ts";
export type { RetryOptions } from "./schedule.ts";
export type { Authorizer } from "./verify.ts";
