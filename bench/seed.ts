import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { Inbox, NewDelivery } from "@reporthook/core";
import { tellParent } from "./child.ts";
import { bodyOf, eight, signatureOf } from "./notification.ts";
import type { Done } from "./progress.ts";

/** What the receivers that are measured are called. */
export const receiverName = "bench";

/** Adds at once that fill an inbox: as many as BullMQ's sends at a time. */
export const fillAtOnce = 400;

const tellEveryMs = 1_000;
const againMs = 1_000;
const mostTries = 10;

/** A delivery as a receiver hands it to its inbox. */
export function deliveryOf(number: number): NewDelivery {
  return {
    id: `0${eight(number)}${"0".repeat(17)}`,
    receiver: receiverName,
    receivedAt: Date.now(),
    key: randomBytes(24),
    signature: signatureOf(eight(number)),
    url: "/webhooks/reports",
    headers: { "content-type": "application/json", "user-agent": "reports/1.0" },
    body: new TextEncoder().encode(bodyOf(eight(number))),
    context: null,
    ackMs: 1,
  };
}

/** What a seeding came to. */
export interface Seeded {
  readonly count: number;
  readonly perSecond: number;
}

/** Puts `count` deliveries into an inbox, `atOnce` at a time, or what fits in `longestMs`; each waits to be verified. */
export async function seed(
  inbox: Inbox,
  count: number,
  atOnce: number,
  longestMs: number = Number.POSITIVE_INFINITY,
): Promise<Seeded> {
  const from = performance.now();
  let next = 0;
  let stored = 0;
  const one = async (): Promise<void> => {
    while (next < count && performance.now() - from < longestMs) {
      await addTo(inbox, deliveryOf(next++));
      stored++;
    }
  };
  const timer = setInterval(() => tellParent({ done: stored, count } satisfies Done), tellEveryMs);
  try {
    await Promise.all(Array.from({ length: atOnce }, one));
  } finally {
    clearInterval(timer);
  }
  return { count: stored, perSecond: (stored / (performance.now() - from)) * 1_000 };
}

/** Tries again: a server that is being filled may hang for longer than an inbox waits. */
async function addTo(inbox: Inbox, delivery: NewDelivery, tries = 1): Promise<void> {
  try {
    await inbox.add(delivery, { to: "received" });
  } catch (error) {
    if (tries === mostTries) throw error;
    await new Promise((resolve) => setTimeout(resolve, againMs));
    await addTo(inbox, delivery, tries + 1);
  }
}
