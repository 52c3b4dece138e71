// docs/logs.md is generated from this table and its comments: `pnpm generate`.

/** The messages of a dashboard's log lines: those of actions have their names. */
export const dashboardMessages = {
  // ## The dashboard
  // These go to the dashboard's own option `logger`.
  /** (info) `by` released the delivery `id`. */
  release: "Delivery released.",
  /** (info) `by` retried the waiting delivery `id`. */
  retry: "Delivery retried.",
  /** (info) `by` released all deliveries parked for `reason`, or with the `error`: `done` of them. */
  releaseAll: "All deliveries parked for a reason or an error were released.",
  /** (info) `by` deleted the parked delivery `id`. */
  discard: "Delivery discarded.",
  /** (info) `by` deleted deliveries parked for `reason`: `done` of them. */
  discardAll: "Deliveries parked for a reason or an error were discarded.",
  /** (info) `by` told that the report of request `id` has come to its end, with this `status`. */
  settle: "Report settled by hand.",
  /** (error) The inbox failed, or `authorize` threw, or returned neither a user nor null: see `error`. */
  failed: "Dashboard failed to answer.",
} as const;
