import type { RequestRecord } from "@reporthook/core";
import type { Notification } from "../surroundings/notification.ts";

/** A call of the service that asks for a report. */
export interface Call {
  /** The id of the request, which its token carries. */
  readonly id: string;
  /** Where its notifications are to go. */
  readonly url: string;
  /** Whether the service has taken it, and will send notifications. */
  readonly isTaken: boolean;
  /** The HTTP status of the answer; null if there is none. */
  readonly status: number | null;
}

/** A call of `reports.request`, and what came of it: nothing if its process ended first. */
export interface Asked {
  readonly resend: boolean;
  outcome:
    | { readonly id: string; readonly status: number | null }
    | { readonly error: unknown }
    | null;
}

/** A report that a customer wants, and asks for once or several times. */
export interface Wish {
  readonly w: number;
  /** Null: without a key it is asked for once. */
  readonly key: string | null;
  readonly context: { readonly wish: number } | null;
  readonly report: { readonly domains: readonly string[] };
  readonly overdueMs: number;
  readonly asked: Asked[];
  readonly calls: Call[];
  /** The stand-in that tells what its handlers do when it is overdue. */
  readonly overdue: Notification;
}

/** A final status that a person told of a request. */
export interface Settling {
  readonly id: string;
  readonly status: "complete" | "internal_error";
  /** In its place stands for what the handlers do. */
  readonly notification: Notification;
  /** Null while it is not known. */
  hasChanged: boolean | null;
}

/** All that was asked for in a world. */
export class Wishes {
  readonly all: Wish[] = [];
  readonly settlings: Settling[] = [];
  /** The deliveries that a person has discarded, or tried to, each with its request. */
  readonly discarded: Map<string, string | null> = new Map();
  /** The requests as they were seen last. */
  readonly seen: Map<string, RequestRecord> = new Map();
  /** The requests as they are at the end. */
  ended: readonly RequestRecord[] = [];
  /** When the last notification is sent and the last request due, in milliseconds since the epoch. */
  busyUntil = 0;

  /** The wish that a report is for. */
  of({ domains }: { readonly domains?: readonly string[] | undefined }): Wish | undefined {
    return this.all.find(({ report }) => report.domains[0] === domains?.[0]);
  }

  /** The wish of a request: the service was called for it, or `reports.request` has told its id. */
  withRequest(id: string | null): Wish | undefined {
    return this.all.find(
      ({ calls, asked }) =>
        calls.some((call) => call.id === id) || asked.some((one) => idOf(one) === id),
    );
  }
}

/** The id of a request as its call has told it; undefined if it has told none. */
export function idOf({ outcome }: Asked): string | undefined {
  if (outcome === null) return undefined;
  if ("id" in outcome) return outcome.id;
  return (outcome.error as { readonly requestId?: string } | null)?.requestId;
}

/** The id of the request that a callback URL was made for. */
export function requestIdIn(url: string): string {
  const token = new URL(url).searchParams.get("callback_token");
  return atob(token?.split(".")[1] ?? "");
}

/** Whether the service certainly has nothing of a call. */
export function isRefused({ isTaken, status }: Call): boolean {
  const isTemporary = status === 408 || status === 429;
  return !isTaken && status !== null && status >= 400 && status < 500 && !isTemporary;
}
