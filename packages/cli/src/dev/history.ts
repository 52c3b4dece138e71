import type { Exchange, Outgoing } from "../lib/exchange.ts";
import type { PlaygroundEvent } from "./event.ts";

/** A notification that the playground has sent, as far as its service knows. */
export interface SentNotification {
  name: string;
  /** The id of its delivery, once an answer has named it. */
  id: string | null;
  /** Its latest step. */
  step: PlaygroundEvent["what"];
  /** The request to an app; null if the playground's inbox keeps the notification. */
  readonly request: AppRequest | null;
  answer?: Exchange;
  /** The service's answer about its signature. */
  verdict?: string;
}

/** A notification as it goes to an app. */
export interface AppRequest extends Outgoing {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The header of the signature. */
export const signatureHeader = "x-svc-authorization";

const most = 100;

/** The newest 100 notifications, oldest first, of which one is chosen: the newest, until another is. */
export class History {
  readonly all: SentNotification[] = [];
  #chosen: SentNotification | null = null;

  add(notification: SentNotification): SentNotification {
    this.all.push(notification);
    if (this.all.length > most) this.all.shift();
    return notification;
  }

  get chosen(): SentNotification | undefined {
    return this.all[this.#index()];
  }

  /** The position of the chosen one, from 1. */
  get position(): number {
    return this.#index() + 1;
  }

  /** Chooses the one before, or after. */
  choose(by: -1 | 1): void {
    const next = this.all[this.#index() + by];
    // The newest follows what comes.
    if (next !== undefined) this.#chosen = next === this.all.at(-1) ? null : next;
  }

  ofDelivery(id: string): SentNotification | undefined {
    return this.all.findLast((one) => one.id === id);
  }

  ofSignature(signature: string | null): SentNotification | undefined {
    if (signature === null || signature === "") return undefined;
    return this.all.findLast(({ request }) => request?.headers[signatureHeader] === signature);
  }

  #index(): number {
    const index = this.#chosen === null ? -1 : this.all.indexOf(this.#chosen);
    return index === -1 ? this.all.length - 1 : index;
  }
}
