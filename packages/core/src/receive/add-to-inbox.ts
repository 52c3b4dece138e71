import type { Arrival, NewDelivery } from "../inbox/delivery.ts";
import type { AddResult, Inbox } from "../inbox/inbox.ts";
import type { Deadline } from "../lib/deadline.ts";

/** The result of adding a delivery, or why it is not known to be stored. */
export type AddAttempt = AddResult | { readonly status: "failed"; readonly error: unknown };

/** Stores a delivery before the deadline; after a timeout it may still be stored. Never rejects. */
export async function addToInbox(
  inbox: Inbox,
  delivery: NewDelivery,
  arrival: Arrival,
  deadline: Deadline,
): Promise<AddAttempt> {
  const { ms } = deadline;
  try {
    const added = await deadline.race(inbox.add(delivery, arrival));
    if (added !== "late") return added;
    return { status: "failed", error: new Error(`The inbox gave no answer within ${ms} ms`) };
  } catch (error) {
    return { status: "failed", error };
  }
}
