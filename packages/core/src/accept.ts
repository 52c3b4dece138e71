import type { Clock } from "./clock.ts";
import type { Arrival, NewDelivery } from "./delivery.ts";
import type { Added, Inbox } from "./inbox.ts";
import { within } from "./within.ts";

/** What became of a delivery, or why it is not known to be stored. */
export type Accepted = Added | { readonly status: "failed"; readonly error: unknown };

/** Stores a delivery before `withinMs` milliseconds are over; later it may be stored all the same. Never rejects. */
export async function accept(
  inbox: Inbox,
  delivery: NewDelivery,
  arrival: Arrival,
  options: { readonly clock: Clock; readonly withinMs: number },
): Promise<Accepted> {
  const { clock, withinMs: ms } = options;
  const late = `The inbox gave no answer within ${ms} ms`;
  try {
    return await within({ clock, ms, late }, () => inbox.add(delivery, arrival));
  } catch (error) {
    return { status: "failed", error };
  }
}
