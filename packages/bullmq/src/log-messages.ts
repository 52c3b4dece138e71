// docs/logs.md is generated from this table and its comments: `pnpm generate`.

/** The messages of a BullMQ inbox' log lines. */
export const bullmqMessages = {
  // ## The inbox
  /**
   * (warn) BullMQ on Redis: the record was deleted from outside, or evicted. Found while pruning, and logged to the inbox's
   * logger. Set `maxmemory-policy noeviction`, and find out who deletes keys.
   */
  parkedLost: "Parked delivery lost: the server no longer has its record.",
} as const;
