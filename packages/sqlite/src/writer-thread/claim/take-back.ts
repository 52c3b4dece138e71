import type { HandedOut } from "../../protocol/protocol.ts";
import type { Shelf } from "../admin/admin.ts";
import type { Receivers } from "../receiver-ids.ts";
import type { HandOut } from "./claimer.ts";
import type { Leases } from "./leases.ts";

/** What is needed to take leases back. */
export interface Holders {
  readonly handOut: HandOut;
  readonly leases: Leases;
  readonly shelf: Shelf;
  readonly receivers: Receivers;
}

/**
 * Takes back what owners that are dead at `now`, in monotonic milliseconds, had leased, if anybody works here; returns what
 * was parked, because work on it ended the process too often.
 */
export function takeBack(
  { handOut: { lanes }, leases, shelf, receivers }: Holders,
  now: number,
): HandedOut["poisoned"] {
  if (lanes.size === 0) return [];
  return leases.dead(now).flatMap((owner) => {
    const rows = shelf.takeBack(owner, (receiver) => lanes.nowOf(receiver));
    leases.end(owner);
    lanes.disturb();
    return rows.map((row) => ({ receiver: receivers.nameOf(Number(row["receiver"])), row }));
  });
}
