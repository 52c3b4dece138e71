import { randomBytes } from "node:crypto";
import type { Inbox, NewDelivery } from "@reporthook/core";
import { bodyOf, eight, signatureOf } from "./notification.ts";

/** A delivery as a receiver hands it to its inbox. */
export function deliveryOf(receiver: string, number: number): NewDelivery {
  return {
    id: `0${eight(number)}${"0".repeat(17)}`,
    receiver,
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

/** Puts `count` deliveries into an inbox, `atOnce` at a time; each waits to be verified. */
export async function seed(
  inbox: Inbox,
  receiver: string,
  count: number,
  atOnce = 1_000,
): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) await inbox.add(deliveryOf(receiver, next++), { to: "received" });
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
