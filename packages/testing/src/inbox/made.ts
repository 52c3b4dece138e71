import type { Arrival, NewDelivery } from "@reporthook/core";
import { dedupeKey, idAt, newId, systemClock } from "@reporthook/core/store";
import type { ManualClock } from "../manual-clock.ts";

/** How a delivery is added. */
export interface AddOptions {
  readonly arrival?: Arrival;
}

/** The parts of a delivery; the others differ from delivery to delivery. */
export interface Parts extends AddOptions {
  readonly receiver?: string;
  /** Null for none. */
  readonly signature?: string | null;
  readonly body?: string | Uint8Array;
  readonly url?: string;
  readonly context?: string | null;
  readonly requestId?: string | null;
  /** When it was received; now. */
  readonly at?: number;
}

/** Makes deliveries with ids in the order of making; `now` gives their time of receipt. */
export function deliveryMaker(now: () => number): (parts?: Parts) => Promise<NewDelivery> {
  let made = 0;
  return async (parts = {}) => {
    const number = ++made;
    const {
      receiver = "a",
      signature = `signature ${number}`,
      url = "/hook?x=1",
      context = null,
      requestId = null,
    } = parts;
    const given = parts.body ?? JSON.stringify({ number });
    const body = typeof given === "string" ? new TextEncoder().encode(given) : given;
    const receivedAt = parts.at ?? now();
    const arrivedAt = Math.min(receivedAt, now());
    // Ids begin with the time of receipt and continue in the order of making.
    const id = idAt(receivedAt) + String(number).padStart(6, "0") + newId(receivedAt).slice(16);
    return {
      id,
      receiver,
      receivedAt,
      arrivedAt,
      signature,
      url,
      context,
      requestId,
      body,
      headers: { "content-type": "application/json", "user-agent": "contract" },
      key: signature === null ? null : await dedupeKey({ receiver, signature, url, body }),
    };
  };
}

/** The clock of a store that keeps its own time. */
export function ownClock(): ManualClock {
  const advance = (): never => {
    throw new Error("The store keeps its own time: this case must be skipped for it");
  };
  const { now } = systemClock;
  return {
    ...systemClock,
    advance,
    pending: 0,
    running: now,
    wallNow: now,
    wallOffset: 0,
    knownSince: 0,
  };
}
