// docs/logs.md is generated from this table and its comments: `pnpm generate`.

/** The messages of log lines about alerts. */
export const alertMessages = {
  // ## Alerts
  /**
   * (error, once a minute) The `send` of [alerts](monitoring.md#alerts) threw `error`, or took over 10 seconds. `code` says
   * which alert. Addresses in `error` are cut to their origin.
   */
  notSent: "Alert not sent; retrying.",
} as const;
