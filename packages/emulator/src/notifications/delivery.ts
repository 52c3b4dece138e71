import type { Notification, NotificationName } from "./notification.ts";

/** Delivers a notification to its receiver instead of the network. */
export type Deliver = (request: Request) => Response | Promise<Response>;

/** A sent notification and its result, recorded on completion. */
export interface Delivery {
  readonly id: string;
  /** The `webhook_url` it went to. */
  readonly url: string;
  readonly name: NotificationName;
  /** The report's id; null for a test. */
  readonly reportId: string | null;
  /** The notification that was sent. */
  readonly notification: Notification;
  /** Time of sending, by the emulator's clock. */
  readonly at: Date;
  /** Duration from sending to the whole answer, by the emulator's clock. */
  readonly durationMs: number;
  /** The answer's HTTP status; null without an answer. */
  readonly status: number | null;
  /** The answer's text, its first 64 KiB. */
  readonly body?: string;
  /** Whether it was not answered 2xx within 5 seconds (the service's document, sections Events and Limits). */
  readonly failed: boolean;
  /** The reason of the failure. */
  readonly error?: string;
}

/** A notification and its target. */
export type OutgoingNotification = Pick<Delivery, "url" | "name" | "reportId" | "notification">;
