import type { Entry } from "@reporthook/core";
import type { Delivery } from "@reporthook/emulator";
import { type Exchange, isDelivered } from "../lib/exchange.ts";

/** An event in the playground. */
export type PlaygroundEvent =
  /** A step of a notification in the playground's receiver. */
  | { readonly what: ReceiverStep; readonly entry: Entry }
  | { readonly what: "sent"; readonly sent: ForwardedNotification }
  /** A program called the service with another API key; the notification it asked about, if it is known. */
  | ({ readonly what: "refused"; readonly path: string } & Partial<About>)
  | ({ readonly what: "asked"; readonly verdict: string } & About)
  /** An app did not ask within 5 seconds. */
  | ({ readonly what: "unasked" } & About)
  | { readonly what: "warning"; readonly message: string };

/** A step in the playground's receiver. */
export type ReceiverStep = "received" | "verified" | "rejected" | "handled" | "failed" | "parked";

/** The notification of an event: its event name, and the id of its delivery if the app has answered with one. */
export type About = Readonly<Pick<SentNotification, "name" | "id">>;

/** A notification sent to an app, with the result. */
export interface ForwardedNotification extends Pick<Delivery, "url" | "status" | "durationMs"> {
  readonly name: string;
  /** Why there was no answer, or what to do about one that is not 2xx. */
  readonly error: string | undefined;
  /** The id of the delivery in the app's inbox, if the answer has one. */
  readonly id: string | undefined;
  /** The status in the receiver's answer: `accepted`, `duplicate`, or the code of a refusal. */
  readonly says: string | undefined;
}

/** Reports an event. */
export type Tell = (event: PlaygroundEvent) => void;

/** Whether something in the event has to be fixed: all that `--output quiet` prints. */
export function isProblem(event: PlaygroundEvent): boolean {
  if (event.what === "sent") return !isDelivered(event.sent);
  return ["rejected", "failed", "parked", "refused", "unasked", "warning"].includes(event.what);
}

/** A notification that the playground has sent, as far as its service knows. */
export interface SentNotification {
  name: string;
  /** The id of its delivery, once an answer has named it. */
  id: string | null;
  step: PlaygroundEvent["what"];
  /** The request to an app; null if the playground's inbox keeps the notification. */
  readonly request: AppRequest | null;
  answer?: Exchange;
  /** The service's answer about its signature. */
  verdict?: string;
}

/** A notification as it goes to an app. */
export interface AppRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/** The header of the signature. */
export const signatureHeader = "x-svc-authorization";

const most = 100;

/** The newest 100 notifications, oldest first, of which one is chosen: the newest, until another is. */
export class History {
  readonly all: SentNotification[] = [];
  readonly #tell: Tell;
  #chosen: SentNotification | null = null;

  constructor(tell: Tell) {
    this.#tell = tell;
  }

  add(notification: SentNotification): SentNotification {
    this.all.push(notification);
    if (this.all.length > most) this.all.shift();
    return notification;
  }

  /** Reports an event; it is the last step of the notification that it is about. */
  tell(event: PlaygroundEvent, about?: SentNotification): void {
    if (about !== undefined) about.step = event.what;
    this.#tell(event);
  }

  /** The place of the chosen one; -1 if there is none. */
  get index(): number {
    const index = this.#chosen === null ? -1 : this.all.indexOf(this.#chosen);
    return index === -1 ? this.all.length - 1 : index;
  }

  get chosen(): SentNotification | undefined {
    return this.all[this.index];
  }

  choose(by: -1 | 1): void {
    const next = this.all[this.index + by];
    // The newest follows what comes.
    if (next !== undefined) this.#chosen = next === this.all.at(-1) ? null : next;
  }
}
