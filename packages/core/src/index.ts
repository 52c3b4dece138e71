export type { Alert } from "./alerts/alert.ts";
export { type AlertsOptions, alerts } from "./alerts/alerts.ts";
export type { CallbackOptions } from "./callback-urls/callback-url.ts";
export type { Authorizer } from "./client/authorizer.ts";
export type { Fetch, FetchInit } from "./client/call-service.ts";
export {
  type AuthorizeOptions,
  type Client,
  type ClientOptions,
  createClient,
  type DeliveryInfo,
  type ReportRequest,
  type RequestedReport,
  type RequestReportOptions,
  type ServiceAnswer,
  type Verdict,
} from "./client/client.ts";
export type { ReportAuth } from "./client/client-options.ts";
export type { FetchResponse } from "./client/read-response.ts";
export type { Metric } from "./client/report-request.ts";
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
  NotificationType,
  OverdueEvent,
  ReportEvent,
  ReportStatus,
  Schema,
  SchemaIssue,
  SchemaResult,
  Schemas,
  TestEvent,
  UnknownEvent,
  Verification,
} from "./events/events.ts";
export type { JsonObject, Parse, Parsed } from "./events/recognize.ts";
export type { Health } from "./health/health.ts";
export type { Problem, ProblemKind } from "./health/problem.ts";
export { type FetchHost, incomingFromRequest, toResponse } from "./http/fetch.ts";
export {
  type Answer,
  type BodyFailure,
  type BodyReading,
  checkReceiver,
  type FetchContext,
  type Incoming,
  type IncomingHeaders,
  type Mountable,
} from "./http/incoming.ts";
export type { Act, ActQuery, ActStep, ActsQuery, EraseQuery, Selection } from "./inbox/acts/act.ts";
export type { LoggedAct } from "./inbox/acts/act-log.ts";
export type { Backlog, Counts, ReasonCounts } from "./inbox/counts.ts";
export type {
  ActRecord,
  Arrival,
  Attempt,
  Entry,
  EntryDetails,
  Job,
  KeptHeaders,
  NewDelivery,
  Outcome,
  Parked,
  Reason,
  ReasonCode,
  Recognized,
  Rejected,
  Retry,
  Stage,
  State,
} from "./inbox/delivery.ts";
export type { ErrorGroup } from "./inbox/facts/error-groups.ts";
export type { Facts, Notes, ParkedFact } from "./inbox/facts/facts.ts";
export type { Hour } from "./inbox/facts/hours.ts";
export type { Minute, Summary } from "./inbox/facts/summary.ts";
export type {
  AddResult,
  ConsumeOptions,
  Consumer,
  Guarantees,
  Inbox,
  InboxHealth,
  InboxNotice,
  Lease,
  Processor,
  TimeMark,
} from "./inbox/inbox.ts";
export { type MemoryInboxOptions, memoryInbox } from "./inbox/memory/memory-inbox.ts";
export type { ErrorsQuery, InboxFilters, InboxQuery, SummaryQuery } from "./inbox/query.ts";
export type { ActOn, ActOptions, ReceiverInbox } from "./inbox/receiver-inbox.ts";
export type {
  RequestCounts,
  RequestQuery,
  RequestState,
  RequestStore,
  StoredRequest,
} from "./inbox/request-store.ts";
export type { Pruned, RetentionOptions } from "./inbox/retention.ts";
export type { StopSignal } from "./lib/abort.ts";
export type { Logger } from "./lib/log.ts";
export type { Clock } from "./lib/time/clock.ts";
export type { InboxClock } from "./lib/time/lived-clock.ts";
export type { Observe } from "./observe/hooks.ts";
export { once, oncePrune, onceTable, type SqlRows } from "./once.ts";
export type {
  Limits,
  ReceiverOptions,
  RetryOptions,
  SignatureSource,
} from "./options/receiver-options.ts";
export { createReceiver } from "./receiver.ts";
export type { Receiver } from "./receiver-type.ts";
export type { ReportRequests, RequestOptions } from "./reports/reports-type.ts";
export type { RequestRecord } from "./reports/request.ts";
