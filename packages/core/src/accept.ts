import { type Clock, quietTimeout } from "./clock.ts";
import type { Arrival, NewDelivery } from "./delivery.ts";
import type { Added, Inbox } from "./inbox.ts";

/** What became of a delivery, or why it is not known to be stored. */
export type Accepted = Added | { readonly status: "failed"; readonly error: unknown };

/** Stores a delivery before `withinMs` milliseconds are over; later it may be stored all the same. Never rejects. */
export async function accept(
  inbox: Inbox,
  delivery: NewDelivery,
  arrival: Arrival,
  options: { readonly clock: Clock; readonly withinMs: number; readonly holdReuse: boolean },
): Promise<Accepted> {
  const { clock, withinMs, holdReuse } = options;
  let timer: unknown;
  const late = new Promise<Accepted>((resolve) => {
    const error = new Error(`The inbox gave no answer within ${withinMs} ms`);
    timer = quietTimeout(clock, () => resolve({ status: "failed", error }), withinMs);
  });
  const stored = store(inbox, delivery, arrival, holdReuse).catch(
    (error: unknown): Accepted => ({ status: "failed", error }),
  );
  const accepted = await Promise.race([stored, late]);
  clock.clearTimeout(timer);
  return accepted;
}

async function store(
  inbox: Inbox,
  delivery: NewDelivery,
  arrival: Arrival,
  holdReuse: boolean,
): Promise<Accepted> {
  return inbox.add(delivery, arrival, { holdReuse });
}
