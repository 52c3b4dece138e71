import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { Inbox, NewDelivery } from "@reporthook/core";
import { tellParent } from "./child.ts";
import type { HowFar } from "./progress.ts";

/** The name of the receiver under test. */
export const receiverName = "bench";

/** Adds at once that fill an inbox: as many as BullMQ's sends at a time. */
export const fillAtOnce = 400;

/** The size of a body where none is said. */
export const bodyBytes = 600;

/**
 * A body with `number` in it, so that no two are the same: what a notification of the service may look like, with what
 * the libraries of other services look for in theirs, padded.
 */
export function bodyOf(number: string, bytes: number = bodyBytes): string {
  const start = `{"event_type":"report.status","report_id":"r-${number}","status":"complete",`;
  const others = `"type":"event_callback","team_id":"T1","event":{"type":"report_status"},"pad":"`;
  return `${(start + others).padEnd(bytes - 2, "x")}"}`;
}

/** A signature with `number` in it. */
export function signatureOf(number: string): string {
  return `t=1700000000,v1=${number.padEnd(64, "0")}`;
}

/** The text of `value` in the place of a number: eight characters. */
export function eight(value: number): string {
  return value.toString(16).padStart(8, "0");
}

const tellEveryMs = 1_000;
const againMs = 1_000;
const maxTries = 10;

/** As all deliveries of a receiver share them. */
const headers = { "content-type": "application/json", "user-agent": "reports/1.0" };

/** A delivery as a receiver hands it to its inbox. */
function deliveryOf(number: number): NewDelivery {
  return {
    id: inOnePiece(`0${eight(number)}${"0".repeat(17)}`),
    receiver: receiverName,
    receivedAt: Date.now(),
    arrivedAt: Date.now(),
    key: randomBytes(24),
    signature: inOnePiece(signatureOf(eight(number))),
    url: "/webhooks/reports",
    headers,
    body: new TextEncoder().encode(bodyOf(eight(number))),
    context: null,
    requestId: null,
  };
}

/** A text put together from parts is kept as a tree of them, larger than those of a receiver, which come out of bytes. */
function inOnePiece(text: string): string {
  return Buffer.from(text, "latin1").toString("latin1");
}

/** Puts `count` deliveries into an inbox, `atOnce` at a time, each to be verified, and waits while it is full. */
export async function seed(
  inbox: Inbox,
  count: number,
  atOnce: number,
  isFull: () => boolean = () => false,
): Promise<void> {
  let next = 0;
  let stored = 0;
  const one = async (): Promise<void> => {
    while (next < count) {
      await addTo(inbox, deliveryOf(next++));
      stored++;
      while (isFull()) await pause(1);
    }
  };
  const timer = setInterval(
    () => tellParent({ done: stored, count } satisfies HowFar),
    tellEveryMs,
  );
  try {
    await Promise.all(Array.from({ length: atOnce }, one));
  } finally {
    clearInterval(timer);
  }
}

/** Tries again: a server that is being filled may hang for longer than an inbox waits. */
async function addTo(inbox: Inbox, delivery: NewDelivery, tries = 1): Promise<void> {
  try {
    await inbox.add(delivery, { to: "received" });
  } catch (error) {
    if (tries === maxTries) throw error;
    await pause(againMs);
    await addTo(inbox, delivery, tries + 1);
  }
}
