import { contextOf } from "../callback-urls/callback-url.ts";
import type { EventType, OverdueEvent } from "../events/events.ts";
import type { Job } from "../inbox/delivery.ts";
import { newId } from "../inbox/id.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import type { LivedClock } from "../lib/time/lived-clock.ts";

/** A final status. */
export type FinalStatus = "complete" | "internal_error";

/** The events that bring a final status. */
export const ends: { readonly [Type in EventType]?: FinalStatus } = {
  "report.complete": "complete",
  "report.internal_error": "internal_error",
};

/** A request, as `receiver.reports` shows it. */
export interface RequestRecord<Context = unknown>
  extends Pick<
    StoredRequest,
    "id" | "state" | "report" | "idempotencyKey" | "reportId" | "answer"
  > {
  /** Null without one. */
  readonly context: Context | null;
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

/** The parts of a request that are given. */
type Given = "receiver" | "idempotencyKey" | "report" | "context" | "traceparent";

/** Makes a request that is about to be sent; it is due after so many milliseconds. */
export function newRequest(
  given: Pick<StoredRequest, Given>,
  overdueMs: number,
  clock: Pick<LivedClock, "now" | "wallNow">,
): StoredRequest {
  const requestedAt = clock.wallNow();
  const unknown = { confirmedAt: null, processingAt: null, settledAt: null, overdueAt: null };
  return {
    ...given,
    id: newId(requestedAt),
    state: "unconfirmed",
    dueAt: clock.now() + overdueMs,
    settledAt: null,
    version: 0,
    reportId: null,
    answer: null,
    dates: { requestedAt, dueAt: requestedAt + overdueMs, ...unknown },
    brought: {},
  };
}

/** The request without what it tells: its id, state and dates stay. Its idempotency key may name a person, and is free again. */
export function erasedRequest(request: StoredRequest): StoredRequest {
  const nothing = { report: {}, reportId: null, answer: null, context: null, idempotencyKey: null };
  return { ...request, ...nothing, traceparent: undefined, isErased: true };
}

/** Shows a request. */
export function requestRecordOf(request: StoredRequest): RequestRecord {
  const { id, state, report, idempotencyKey, reportId, answer, dates } = request;
  const context = contextOf(request) ?? null;
  const shown = Object.entries(dates).map(([name, ms]) => [
    name,
    ms === null ? null : new Date(ms),
  ]);
  const when = Object.fromEntries(shown) as Pick<RequestRecord, keyof typeof dates>;
  return { id, state, report, context, idempotencyKey, reportId, answer, ...when };
}

/** Makes the event of a delivery that tells a request as overdue. */
export function overdueEvent(
  { id, receivedAt }: Pick<Job, "id" | "receivedAt">,
  request: StoredRequest,
): OverdueEvent {
  const { id: requestId, report, answer, reportId, dates } = request;
  return {
    id,
    type: "report.overdue",
    requestId,
    report,
    answer,
    reportId,
    receivedAt,
    context: contextOf(request),
    requestedAt: new Date(dates.requestedAt),
    dueAt: new Date(dates.dueAt),
    confirmed: dates.confirmedAt !== null,
    lastStatus: dates.processingAt === null ? null : "processing",
    eventType: null,
    verification: null,
    body: null,
  };
}

/** The request with a date of the wall clock; as it is, if it has that already. */
export function dated(
  request: StoredRequest,
  name: keyof StoredRequest["dates"],
  wallNow: number,
): StoredRequest {
  const { dates } = request;
  return dates[name] === null ? { ...request, dates: { ...dates, [name]: wallNow } } : request;
}

/** The request once the service is known to have it, at a time of the wall clock. */
export function confirmed(request: StoredRequest, wallNow: number): StoredRequest {
  const state = request.state === "unconfirmed" ? "open" : request.state;
  return dated({ ...request, state }, "confirmedAt", wallNow);
}

/** The request once a delivery has brought an event of it: a status changes its state, unless that is final. */
export function withEvent(
  request: StoredRequest,
  type: EventType,
  { id: by, verification }: Pick<Job, "id" | "verification">,
  reportId: string | null,
  clock: Pick<LivedClock, "now" | "wallNow">,
): StoredRequest {
  // Of the others, each delivery is handled.
  const isStatus = type.startsWith("report.");
  const events = isStatus ? { ...request.brought, [type]: { by, done: false } } : request.brought;
  const noted = { ...request, brought: events };
  const wallNow = clock.wallNow();
  if (type === "report.overdue") return dated(noted, "overdueAt", wallNow);
  const identified = { ...noted, reportId: request.reportId ?? reportId };
  // A person may know that the service never had it.
  const known = verification === "settled" ? identified : confirmed(identified, wallNow);
  if (type === "report.processing") return dated(known, "processingAt", wallNow);
  const state = ends[type];
  if (state === undefined || known.settledAt !== null) return known;
  return dated({ ...known, state, settledAt: clock.now() }, "settledAt", wallNow);
}
