import type { Entry } from "@reporthook/core";
import type { Delivery } from "@reporthook/emulator";
import { isDelivered } from "../lib/exchange.ts";

/** An event in the playground. */
export type PlaygroundEvent =
  /** A step of a notification in the playground's receiver. */
  | { readonly what: ReceiverStep; readonly entry: Entry }
  /** A notification was sent to an app. */
  | { readonly what: "sent"; readonly sent: ForwardedNotification }
  /** A program called the service with another API key; the notification it asked about, if it is known. */
  | ({ readonly what: "refused"; readonly path: string } & Partial<About>)
  /** An app asked the service about a notification. */
  | ({ readonly what: "asked"; readonly verdict: string } & About)
  /** An app did not ask within 5 seconds. */
  | ({ readonly what: "unasked" } & About)
  | { readonly what: "warning"; readonly message: string };

/** A step in the playground's receiver. */
export type ReceiverStep = "received" | "verified" | "rejected" | "handled" | "failed" | "parked";

/** The notification of an event: its event name, and the id of its delivery if the app has answered with one. */
export interface About {
  readonly name: string;
  readonly id: string | null;
}

/** A notification sent to an app, with the result. */
export interface ForwardedNotification extends Pick<Delivery, "url" | "status" | "durationMs"> {
  readonly name: string;
  readonly error?: string;
  /** The id of the delivery in the app's inbox, if the answer has one. */
  readonly id?: string;
  /** The status in the receiver's answer: `accepted`, `duplicate`, or the code of a refusal. */
  readonly says?: string;
}

/** Reports an event. */
export type Tell = (event: PlaygroundEvent) => void;

/** Whether something in the event has to be fixed: all that `--output quiet` prints. */
export function isProblem(event: PlaygroundEvent): boolean {
  if (event.what === "sent") return !isDelivered(event.sent);
  return ["rejected", "failed", "parked", "refused", "unasked", "warning"].includes(event.what);
}
