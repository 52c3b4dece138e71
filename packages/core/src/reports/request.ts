import type { RequestedReport, ServiceAnswer } from "../client/client.ts";
import type { EventType } from "../events/events.ts";
import type { RequestState, StoredRequest } from "../inbox/request-store.ts";
import type { LivedMoment } from "../inbox/transitions.ts";

/** A request as the receiver works with it: what is stored of it, read. */
export interface KnownRequest extends Omit<StoredRequest, "data">, RequestData {}

/** The part of a request that is stored as text. */
interface RequestData {
  readonly report: RequestedReport;
  readonly reportId: string | null;
  readonly answer: ServiceAnswer | null;
  /** By the wall clock, in milliseconds: set once. */
  readonly dates: {
    readonly requestedAt: number;
    readonly dueAt: number;
    readonly confirmedAt: number | null;
    readonly processingAt: number | null;
    readonly settledAt: number | null;
    readonly overdueAt: number | null;
  };
  /** The delivery that first brought an event, and whether its handlers have succeeded. */
  readonly claims: {
    readonly [Type in EventType]?: { readonly by: string; readonly done: boolean };
  };
  /** The W3C trace context in which it was made, if somebody observes. */
  readonly traceparent?: string | undefined;
  /** A person erased it: what was asked for, for whom, and the answers are gone. */
  readonly isErased?: true | undefined;
}

/** A request, as `receiver.reports` shows it. */
export interface RequestRecord<Context = unknown> {
  readonly id: string;
  readonly state: RequestState;
  readonly report: RequestedReport;
  /** Null without one. */
  readonly context: Context | null;
  readonly idempotencyKey: string | null;
  /** Read in a notification; null before. */
  readonly reportId: string | null;
  /** The answer of the service; null while it is not known. */
  readonly answer: ServiceAnswer | null;
  readonly requestedAt: Date;
  /** When the service answered 2xx, or the first genuine notification came. */
  readonly confirmedAt: Date | null;
  readonly processingAt: Date | null;
  /** When it became `complete` or `internal_error`. */
  readonly settledAt: Date | null;
  readonly dueAt: Date;
  /** When it was told as overdue. */
  readonly overdueAt: Date | null;
}

/** Reads a stored request. */
export function requestOf({ data, ...stored }: StoredRequest): KnownRequest {
  return { ...stored, ...(JSON.parse(data) as RequestData) };
}

/** The form in which a request is stored. */
export function storedOf(request: KnownRequest): StoredRequest {
  const { report, reportId, answer, dates, claims, traceparent, isErased, ...stored } = request;
  const data = { report, reportId, answer, dates, claims, traceparent, isErased };
  return { ...stored, data: JSON.stringify(data) };
}

/** The request without what it tells: its id, state and dates stay. Its idempotency key may name a person, and is free again. */
export function erasedRequest(request: KnownRequest): KnownRequest {
  const nothing = { report: {}, reportId: null, answer: null, context: null, idempotencyKey: null };
  return { ...request, ...nothing, traceparent: undefined, isErased: true };
}

/** Shows a request. */
export function requestRecordOf({
  id,
  state,
  report,
  idempotencyKey,
  ...rest
}: KnownRequest): RequestRecord {
  const { reportId, answer, dates } = rest;
  const date = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
  return {
    ...{ id, state, report, context: contextIn(rest) ?? null, idempotencyKey, reportId, answer },
    requestedAt: new Date(dates.requestedAt),
    confirmedAt: date(dates.confirmedAt),
    processingAt: date(dates.processingAt),
    settledAt: date(dates.settledAt),
    dueAt: new Date(dates.dueAt),
    overdueAt: date(dates.overdueAt),
  };
}

/** The context of a request; undefined without one. */
export function contextIn({ context }: Pick<KnownRequest, "context">): unknown {
  return context === null ? undefined : JSON.parse(context);
}

/** Whether a report has come to its end. */
export function isSettled({ settledAt }: Pick<StoredRequest, "settledAt">): boolean {
  return settledAt !== null;
}

/** The request once the service is known to have it, at a time of the wall clock. */
export function confirmed(request: KnownRequest, wallNow: number): KnownRequest {
  const { state, dates } = request;
  return {
    ...request,
    state: state === "unconfirmed" ? "open" : state,
    dates: { ...dates, confirmedAt: dates.confirmedAt ?? wallNow },
  };
}

/** The request once it was told as overdue, at a time of the wall clock. */
export function told(request: KnownRequest, wallNow: number): KnownRequest {
  if (request.isTold) return request;
  return { ...request, isTold: true, dates: { ...request.dates, overdueAt: wallNow } };
}

/** The request once a delivery has brought an event of it: a status changes its state, unless that is final. */
export function claimed(
  request: KnownRequest,
  type: EventType,
  by: string,
  reportId: string | null,
  { now, wallOffset }: LivedMoment,
): KnownRequest {
  // Of the others, each delivery is handled.
  const isStatus = type.startsWith("report.");
  const claims = isStatus ? { ...request.claims, [type]: { by, done: false } } : request.claims;
  const wallNow = now + wallOffset;
  if (type === "report.overdue") return told({ ...request, claims }, wallNow);
  const known = confirmed({ ...request, claims, reportId: request.reportId ?? reportId }, wallNow);
  const { dates } = known;
  if (type === "report.processing") {
    const processingAt = dates.processingAt ?? wallNow;
    return { ...known, dates: { ...dates, processingAt } };
  }
  const isEnd = type === "report.complete" || type === "report.internal_error";
  if (!isEnd || isSettled(known)) return known;
  const state = type === "report.complete" ? "complete" : "internal_error";
  return { ...known, state, settledAt: now, dates: { ...dates, settledAt: wallNow } };
}
