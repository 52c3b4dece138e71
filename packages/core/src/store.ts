// "@reporthook/core/store": the parts of an inbox, so that every store makes the same decisions.

export { withoutToken } from "./callback-urls/callback-url.ts";
export { backlogShareOf, noBacklog, sumOfBacklogs } from "./inbox/backlog.ts";
export {
  isKeyRefused,
  isParked,
  maxUnsigned,
  park,
  parkedReasons,
  reject,
  retryIn,
  signatureLifetimeMs,
  states,
  stopped,
} from "./inbox/delivery.ts";
export { watchHealth } from "./inbox/health.ts";
export { idAt, timeOf } from "./inbox/id.ts";
export {
  filterEntries,
  idRange,
  isChosen,
  minuteMs,
  minuteOf,
  summarize,
  zeroCounts,
} from "./inbox/query.ts";
export { type OfReceiver, receiverInbox } from "./inbox/receiver-inbox.ts";
export {
  dayMs,
  isOver,
  isUnsigned,
  type Retention,
  type RetentionOptions,
  retentionOf,
} from "./inbox/retention.ts";
export { ShownChanges } from "./inbox/shown-changes.ts";
export {
  attemptOutcome,
  detailsOf,
  entryOf,
  jobOf,
  newStoredDelivery,
  type StoredDelivery,
} from "./inbox/stored-delivery.ts";
export {
  applyOutcome,
  assertParked,
  assertReleasable,
  type LivedMoment,
  notFound,
  notWaiting,
  reopen,
} from "./inbox/transitions.ts";
export { setUnrefTimeout, systemClock } from "./lib/clock.ts";
export { describe } from "./lib/describe.ts";
export { InFlight, type InFlightItem } from "./lib/in-flight.ts";
export { LivedClock } from "./lib/lived-clock.ts";
export { loggerOf } from "./lib/log.ts";
export { printable } from "./lib/printable.ts";
export { Standstill, signMs, standstillMs } from "./lib/standstill.ts";
export { laterMark, noMark, Timekeeper } from "./lib/timekeeper.ts";
export { assertKnownKeys } from "./lib/validate.ts";
