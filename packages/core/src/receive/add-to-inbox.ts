import type { Arrival, NewDelivery } from "../inbox/delivery.ts";
import type { Added, Inbox } from "../inbox/inbox.ts";
import type { Deadline } from "../lib/deadline.ts";

/** What became of a delivery, or why it is not known to be stored. */
export type Accepted = Added | { readonly status: "failed"; readonly error: unknown };

/** Stores a delivery before the deadline; later it may be stored all the same. Never rejects. */
export async function accept(
  inbox: Inbox,
  delivery: NewDelivery,
  arrival: Arrival,
  deadline: Deadline,
): Promise<Accepted> {
  const { ms } = deadline;
  try {
    const added = await deadline.race(inbox.add(delivery, arrival));
    if (added !== "late") return added;
    return { status: "failed", error: new Error(`The inbox gave no answer within ${ms} ms`) };
  } catch (error) {
    return { status: "failed", error };
  }
}
