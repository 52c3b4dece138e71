import type { Pruned } from "@reporthook/core";
import { PruneCount } from "@reporthook/core/store";
import { bullmqMessages } from "../log-messages.ts";
import type { OpenSession } from "../queues/session.ts";
import type { RedisRequests } from "../requests/redis-requests.ts";
import type { BullmqSettings } from "../server/settings.ts";
import { foresee, prune } from "./prune.ts";

/** Prunes the queues of all receivers by the retention that the server has; with `dryRun` it only counts. */
export async function pruneAll(
  open: OpenSession,
  { retention: own, logger, place }: BullmqSettings,
  now: number,
  dryRun: boolean,
  requests: Pick<RedisRequests, "prune"> | undefined,
): Promise<Pruned> {
  const { connection, receivers } = open;
  const retention = (await receivers.retention()) ?? own;
  const pruned = new PruneCount(retention);
  const tellLost = (id: string): void =>
    logger.warn({ inbox: place, id }, bullmqMessages.parkedLost);
  if (!dryRun) await receivers.registerAgain();
  for (const receiver of await receivers.names()) {
    const queues = receivers.queuesOf(receiver);
    if (!dryRun) await connection.forget(queues.of("verify").name, now);
    await (dryRun ? foresee : prune)(queues, { retention, now, pruned, tellLost });
  }
  if (!dryRun) await requests?.prune(open, retention, now);
  return pruned;
}
