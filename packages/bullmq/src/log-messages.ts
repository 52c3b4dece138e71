// docs/logs.md is generated from this table and its comments: `pnpm generate`.

/** The messages of a BullMQ inbox' log lines. */
export const bullmqMessages = {
  // ## The inbox
  /** (warn) BullMQ: the server was emptied, or another one without the data has taken its place. `receivers` go on. */
  inboxLost: "The server has lost the inbox: what was acknowledged before may be gone.",
  /** (warn) BullMQ on Redis: the record was deleted from outside, or evicted. Set `maxmemory-policy noeviction`. */
  parkedLost: "Parked delivery lost: the server no longer has its record.",
} as const;
