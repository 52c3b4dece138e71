import type { InboxNotice } from "@reporthook/core";

/** The report of a process that stood still. */
export interface StandstillReport {
  /** The ids of the deliveries that it began. */
  readonly began: readonly string[];
  readonly notices: readonly InboxNotice[];
  /** The number of errors that it was told. */
  readonly errors: number;
}

/** Another process on the store, whose event loop stands still with all deliveries in its hand. */
export interface StandingProcess {
  /** Has it go on; resolves to its report. */
  goOn(): Promise<StandstillReport>;
}
