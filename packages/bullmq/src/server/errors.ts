import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";

// Messages of Redis, ioredis, PostgreSQL and pg, and what to do.
const ways: readonly (readonly [RegExp, string])[] = [
  [
    /NOAUTH|WRONGPASS|password authentication failed/,
    "it asks for another password: see connection",
  ],
  [
    /CROSSSLOT|MOVED|CLUSTERDOWN|cluster node/,
    "it is a node of a Redis Cluster, over which BullMQ's queues can't be spread: give a Redis, or Sentinels, that is none",
  ],
  [/OOM command/, "it is out of memory: raise maxmemory, or keep less (option retention)"],
  [
    /READONLY|read-only transaction/,
    "it takes no writes, as a replica does: connect to the primary",
  ],
  [
    /SchemaMigrationRequired/,
    "BullMQ's tables are not there: the app makes them when it opens the inbox without migrate: false",
  ],
  [/SchemaVersionMismatch/, "BullMQ's tables are newer: update bullmq here"],
  [
    /isn't writeable|maxRetriesPerRequest|Connection (is closed|terminated)|timed out|timeout exceeded|no answer within|sentinels are unreachable|ECONN|ENOTFOUND|EHOSTUNREACH|ETIMEDOUT/,
    "it can't be reached: start it, or wait for its failover",
  ],
];

/**
 * The error to show for a failure of the server at `place`: the way out, and the original message. Not the original error, which
 * carries the failed command, and in it a password, a signature or a body.
 */
export function serverErrorOf(error: unknown, place: string): ReporthookError {
  if (error instanceof ReporthookError) return error;
  const words = describe(error);
  const way = ways.find(([said]) => said.test(words))?.[1];
  const text = way === undefined ? words : `${way} (${words})`;
  return new ReporthookError("inbox_failed", `The inbox at ${place}: ${text}`);
}
