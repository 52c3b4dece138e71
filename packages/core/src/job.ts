import type { Arrival, Entry, Job, NewDelivery } from "./delivery.ts";
import { fingerprint } from "./fingerprint.ts";
import type { Notification } from "./receive.ts";

/** A notification as work, before anything is known of it. */
export function newJob(
  notification: Notification,
  { id, arrivedAt, context }: Pick<Job, "id" | "context"> & { readonly arrivedAt: number },
): Job {
  // Written out, here and below: made of spreads, an object costs more than hashing the body.
  return {
    id,
    signature: notification.signature,
    url: notification.url,
    context,
    headers: notification.headers,
    body: notification.body,
    receivedAt: new Date(arrivedAt),
    state: "received",
    stage: "verify",
    reason: null,
    type: null,
    reportId: null,
    attempts: 0,
    nextAttemptAt: null,
    lastError: null,
    ackMs: 0,
    verification: null,
    released: false,
    memo: null,
    sameSignatureAs: null,
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

/** The key by which an inbox tells duplicates, `url` being the whole one; null without a signature. */
export function keyOf(
  { signature, body }: Job,
  url: string,
  receiver: string,
): Uint8Array | null | Promise<Uint8Array> {
  return signature === null ? null : fingerprint({ receiver, signature, url, body });
}

/** What an inbox stores of a job. */
export function deliveryOf(
  { id, signature, url, context, headers, body, receivedAt }: Job,
  { receiver, key, ackMs }: Pick<NewDelivery, "receiver" | "key" | "ackMs">,
): NewDelivery {
  const ms = receivedAt.getTime();
  return { id, receiver, receivedAt: ms, key, signature, url, context, headers, body, ackMs };
}

/** The entry of a delivery that was just stored. */
export function entryAtArrival({ id, receivedAt }: Job, arrival: Arrival, ackMs: number): Entry {
  const { type = null, reportId = null } = arrival.to === "received" ? {} : arrival;
  const held = arrival.to === "held";
  return {
    id,
    state: arrival.to,
    reason: held ? arrival.reason : null,
    type,
    reportId,
    receivedAt,
    attempts: 0,
    nextAttemptAt: held ? null : receivedAt,
    lastError: null,
    ackMs,
  };
}
