// docs/logs.md is generated from this table and its comments: `pnpm generate`.

/** The messages of a dashboard's log lines. */
export const dashboardMessages = {
  // ## The dashboard
  // These go to the dashboard's own option `logger`.
  /** (info) `by` released the delivery `id`. */
  released: "Delivery released.",
  /** (info) `by` retried the waiting delivery `id`. */
  retried: "Delivery retried.",
  /** (info) `by` released all deliveries parked for `reason`, or with the `error`: `done` of them. */
  releasedAll: "All deliveries parked for a reason or an error were released.",
  /** (info) `by` deleted the parked delivery `id`. */
  discarded: "Delivery discarded.",
  /** (info) `by` deleted deliveries parked for `reason`: `done` of them. */
  discardedAll: "Deliveries parked for a reason or an error were discarded.",
  /** (info) `by` told that the report of request `id` has come to its end, with this `status`. */
  settled: "Report settled by hand.",
  /** (error) The inbox failed, or `authorize` threw, or returned neither a user nor null: see `error`. */
  failed: "Dashboard failed to answer.",
} as const;
