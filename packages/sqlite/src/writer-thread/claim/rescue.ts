import { applyOutcome, poison, type StoredDelivery } from "@reporthook/core/store";
import type { Row } from "../../database/driver.ts";
import { queues } from "../../protocol/position.ts";
import type { Reply, Takeover } from "../../protocol/protocol.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Claimer } from "./claimer.ts";
import type { Leases } from "./leases.ts";

/** The number of starts without a recorded outcome after which a delivery is parked as poison. */
const maxStarts = 5;

/** The part of a reply that comes from other workers. */
export type Rescued = Pick<Reply, "poisoned" | "takeovers">;

/** Nothing was rescued. */
export const nothingRescued: Rescued = { poisoned: [], takeovers: [] };

/** Requeues or parks the deliveries of dead workers, if this process has consumers that can begin them. */
export function rescue(leases: Leases, claimer: Claimer, deliveries: Deliveries): Rescued {
  if (!claimer.hasConsumers || !leases.mayClaim) return nothingRescued;
  const poisoned: StoredDelivery[] = [];
  const takeovers: Takeover[] = [];
  for (const { id, process, silentMs } of leases.deadWorkers()) {
    const rows = rowsOf(id, deliveries);
    for (const row of rows) {
      const moment = claimer.momentOf(deliveries.receiverOf(row));
      const { now } = moment;
      const starts = Number(row["starts"]);
      const edited = deliveries.edit(row, now, (stored) => {
        if (starts >= maxStarts) applyOutcome(stored, poison(starts), now, moment);
        // Each at another time, so that none runs beside the one that crashes the process.
        else if (starts > 1) stored.dueAt = now + Math.ceil(Math.random() * 1_000 * 2 ** starts);
      });
      if (starts >= maxStarts) poisoned.push(edited);
    }
    if (rows.length > 0) takeovers.push({ process, deliveries: rows.length, silentMs });
    leases.unregister(id);
    claimer.invalidate();
  }
  return { poisoned, takeovers };
}

/** Requeues the deliveries of this worker, which ends regularly, as if their work had not begun. */
export function requeue(leases: Leases, claimer: Claimer, deliveries: Deliveries): void {
  const { workerId } = leases;
  if (workerId === null) return;
  for (const row of rowsOf(workerId, deliveries)) {
    const { now } = claimer.momentOf(deliveries.receiverOf(row));
    deliveries.edit({ ...row, starts: 0 }, now, () => {});
  }
  leases.unregister(workerId);
}

/** The deliveries that are leased to a worker. */
function rowsOf(workerId: number, { receivers, statement }: Deliveries): Row[] {
  const leased = statement("SELECT * FROM delivery WHERE receiver = ? AND queue = ? AND rank = ?");
  const { verify, handle } = queues;
  return receivers
    .select(undefined)
    .flatMap((receiver) =>
      [verify.leased, handle.leased].flatMap((queue) => leased.all(receiver, queue, workerId)),
    );
}
