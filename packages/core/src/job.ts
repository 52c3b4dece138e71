import type { Arrival, Entry, Job, NewDelivery } from "./delivery.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Notification } from "./receive.ts";

/** A notification as work, before anything is known of it. */
export function newJob(notification: Notification, id: string, arrivedAt: number): Job {
  const { signature, url, headers, body } = notification;
  return {
    ...{ id, signature, url, headers, body, receivedAt: new Date(arrivedAt) },
    ...{ state: "received", stage: "verify", reason: null, type: null, reportId: null },
    ...{ attempts: 0, nextAttemptAt: null, lastError: null, ackMs: 0 },
    ...{ verification: null, released: false, memo: null, sameSignatureAs: null },
  };
}

/** The job of a delivery that begins verified. */
export function verifiedJob(job: Job, arrival: Extract<Arrival, { to: "verified" }>): Job {
  const { verification, type, reportId } = arrival;
  return {
    ...{ ...job, state: "verified", stage: "handle", signature: null },
    ...{ verification, type, reportId },
  };
}

/** The key by which an inbox tells duplicates; null without a signature. */
export async function keyOf(
  { signature, url, body }: Job,
  receiver: string,
): Promise<Uint8Array | null> {
  return signature === null ? null : await fingerprint({ receiver, signature, url, body });
}

/** What an inbox stores of a job. */
export function deliveryOf(
  { id, signature, url, headers, body, receivedAt }: Job,
  rest: Pick<NewDelivery, "receiver" | "key" | "ackMs">,
): NewDelivery {
  return { id, signature, url, headers, body, receivedAt: receivedAt.getTime(), ...rest };
}

/** The entry of a delivery that was just stored. */
export function entryAtArrival({ id, receivedAt }: Job, arrival: Arrival, ackMs: number): Entry {
  const { type = null, reportId = null } = arrival.to === "received" ? {} : arrival;
  const held = arrival.to === "held";
  return {
    ...{ id, receivedAt, type, reportId, ackMs },
    state: arrival.to,
    reason: held ? arrival.reason : null,
    nextAttemptAt: held ? null : receivedAt,
    ...{ attempts: 0, lastError: null },
  };
}
