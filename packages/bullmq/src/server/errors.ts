import { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";

// Messages of Redis, ioredis, PostgreSQL and pg, and what to do.
const ways: readonly (readonly [RegExp, string])[] = [
  [
    /NOAUTH|WRONGPASS|password authentication failed/,
    "it asks for another password: see connection",
  ],
  [
    /certificate/i,
    "its certificate is not trusted: name the file of its authority in NODE_EXTRA_CA_CERTS, or give its ca in tls of connection, in ssl for PostgreSQL",
  ],
  [
    /wrong version number|does not support SSL/,
    "it does not speak TLS: begin the URL with redis://, or omit tls, ssl and sslmode",
  ],
  [/no pg_hba\.conf entry.*no encryption/, "it wants TLS: add ssl or sslmode to connection"],
  [
    /database ".*" does not exist/,
    "it has no database of that name: make it, or name another in connection",
  ],
  [
    /CROSSSLOT|MOVED|CLUSTERDOWN|cluster node/,
    "it is a node of a Redis Cluster, over which BullMQ's queues can't be spread: give a Redis, or Sentinels, that is none",
  ],
  [/NOPERM.*keys/, "its ACL does not permit the keys: add ~bull:PREFIX-*"],
  [
    /NOPERM/,
    "its ACL does not permit a command that BullMQ needs: add +@all, or the one named here",
  ],
  [
    /DB index is out of range|invalid DB index|value is (?:not an integer or )?out of range/,
    "it has no database of that number: see db in connection, and databases in its configuration",
  ],
  [
    /too many connections|too many clients|remaining connection slots/,
    "it permits too few connections: a process has up to 22 with one receiver, and 12 for each further one. Permit more, or set max in connection, for each of the 3 pools that make up the 22",
  ],
  [
    /permission denied for (?:database|schema|table|relation|sequence|function)|must be owner of/,
    "its role may not make BullMQ's tables, or use them: let a role that may open the inbox once, grant this one their use, and set migrate: false in connection",
  ],
  [/OOM command/, "it is out of memory: raise maxmemory, or keep less (option retention)"],
  [
    /READONLY|read-only transaction/,
    "it takes no writes, as a replica does: connect to the primary",
  ],
  [
    /NOREPLICAS/,
    "it takes no writes without its replicas: start them, or lower min-replicas-to-write",
  ],
  [
    /MISCONF/,
    "it takes no writes, for its last snapshot failed: see its log, and the room on its disk",
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

/** A server that does not speak TLS waits for the rest of what it takes for a command. */
const withoutHandshake = /no answer within|connect ETIMEDOUT|before secure TLS connection/;
const noTls =
  "it does not answer over TLS, and probably does not speak it: begin the URL with redis://, or omit tls; else start it, or wait for its failover";

/**
 * The error to show for a failure of the server at `address`: the way out, and the original message. Not the original error, which
 * carries the failed command, and in it a password, a signature or a body.
 */
export function serverErrorOf(
  error: unknown,
  address: string,
  prefix = "reporthook",
): ReporthookError {
  if (error instanceof ReporthookError) return error;
  const words = describe(error);
  const isUnsecured = address.startsWith("rediss:") && withoutHandshake.test(words);
  const found = isUnsecured ? noTls : ways.find(([said]) => said.test(words))?.[1];
  const way = found?.replace("PREFIX", prefix);
  const text = way === undefined ? words : `${way} (${words})`;
  return new ReporthookError("inbox_failed", `The inbox at ${address}: ${text}`);
}

/** Whether an error is that of a Redis which refuses the database: it may lack it, or not permit it. */
export function isSelectRefused(error: Error | undefined): boolean {
  const { name, command } = (error ?? {}) as { name?: string; command?: { name?: string } };
  return name === "ReplyError" && command?.name === "select";
}
