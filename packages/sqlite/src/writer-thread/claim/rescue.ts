import type { Reply } from "../../protocol/protocol.ts";
import type { Maintenance } from "../admin/maintenance.ts";
import type { Consumers } from "./consumers.ts";
import type { Leases } from "./leases.ts";

/** The part of a reply that comes from other workers. */
export type Rescued = Pick<Reply, "poisoned" | "takeovers">;

/** Nothing was rescued. */
export const nothingRescued: Rescued = { poisoned: [], takeovers: [] };

/** Takes over the deliveries of dead workers, if this process has consumers that can begin them. */
export function rescue(leases: Leases, consumers: Consumers, maintenance: Maintenance): Rescued {
  if (consumers.size === 0 || !leases.mayClaim) return nothingRescued;
  const all = leases.deadWorkers().map(({ id, process, silentMs }) => {
    const { deliveries, poisoned } = maintenance.rescue(id, consumers);
    leases.unregister(id);
    consumers.invalidate();
    return { poisoned, takeovers: deliveries > 0 ? [{ process, deliveries, silentMs }] : [] };
  });
  return {
    poisoned: all.flatMap(({ poisoned }) => poisoned),
    takeovers: all.flatMap(({ takeovers }) => takeovers),
  };
}
