import type { RequestedReport, ServiceAnswer } from "../client/client.ts";
import type { EventType } from "../events/events.ts";
import type { InboxQuery } from "./query.ts";

/** All states of a request, in the order of its way. */
export const requestStates = ["unconfirmed", "open", "complete", "internal_error"] as const;

/** The state of a request for a report: `open` once the service is known to have it. */
export type RequestState = (typeof requestStates)[number];

/** A request, as an inbox stores it, and gives copies of: JSON, which is found by the parts up to `version`, and by `overdueAt`. */
export interface StoredRequest {
  /** Like the id of a delivery: it sorts by time. */
  readonly id: string;
  /** The name of the receiver it belongs to. */
  readonly receiver: string;
  /** No other request of the receiver has the same; null without. */
  readonly idempotencyKey: string | null;
  readonly state: RequestState;
  /** Lived time in milliseconds, like the next one. */
  readonly dueAt: number;
  /** When it became complete or internal_error; null before. */
  readonly settledAt: number | null;
  /** The number of its changes. */
  readonly version: number;
  readonly report: RequestedReport;
  /** JSON text; null without one. */
  readonly context: string | null;
  /** Read in a notification; null before. */
  readonly reportId: string | null;
  /** The answer of the service; null while it is not known. */
  readonly answer: ServiceAnswer | null;
  /** By the wall clock, in milliseconds: set once. */
  readonly dates: {
    readonly requestedAt: number;
    readonly dueAt: number;
    readonly confirmedAt: number | null;
    readonly processingAt: number | null;
    readonly settledAt: number | null;
    /** When it was told as overdue. */
    readonly overdueAt: number | null;
  };
  /** The delivery that first brought an event, and whether its handlers have succeeded. */
  readonly brought: {
    readonly [Type in EventType]?: { readonly by: string; readonly done: boolean };
  };
  /** The W3C trace context in which it was made, if somebody observes. */
  readonly traceparent?: string | undefined;
  /** It was sent again: that one call was refused no longer means that the service has nothing of it. */
  readonly isResent?: true | undefined;
  /** A person erased it: what was asked for, for whom, and the answers are gone. */
  readonly isErased?: true | undefined;
}

/** The filters of a list of requests. */
export interface RequestQuery extends Pick<InboxQuery, "receiver" | "newestFirst" | "after"> {
  /** In this state; `overdue` is told as overdue and not settled. */
  readonly state?: RequestState | "overdue" | undefined;
  readonly limit: number;
}

/** The number of requests in each state, and of those that are overdue. */
export type RequestCounts = Readonly<Record<RequestState | "overdue", number>>;

/** The part of an inbox that keeps requests. Its methods open the store if needed. `prune` of the inbox deletes requests. */
export interface RequestStore {
  /** Stores a request durably and resolves to null; to the one that has its key, if there is one. */
  add(request: StoredRequest): Promise<StoredRequest | null>;
  get(id: string, receiver?: string): Promise<StoredRequest | null>;
  /** Puts `next` in the place of a request as it was read, or deletes it for null; resolves to false if that has changed. */
  replace(read: StoredRequest, next: StoredRequest | null): Promise<boolean>;
  list(query: RequestQuery): Promise<StoredRequest[]>;
  counts(receiver?: string): Promise<RequestCounts>;
  /** Finds the requests of a receiver that are due until a lived time, neither settled nor told as overdue: the first due first. */
  due(receiver: string, until: number, limit: number): Promise<StoredRequest[]>;
}

/** Whether a request is one that a list asks for by its state. */
export function isAsked(
  { state, settledAt, dates }: StoredRequest,
  asked: RequestQuery["state"],
): boolean {
  if (asked === "overdue") return dates.overdueAt !== null && settledAt === null;
  return asked === undefined || asked === state;
}
