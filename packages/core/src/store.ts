// "@reporthook/core/store": what an inbox of one's own is made of, so that every store decides alike.

export {
  again,
  isKeyRefused,
  isParked,
  leave,
  mostUnsigned,
  parkedReasons,
  signatureLifetimeMs,
  states,
  stopped,
} from "./inbox/delivery.ts";
export { watchHealth } from "./inbox/health.ts";
export { idAt, timeOf } from "./inbox/id.ts";
export { idRange, isChosen, lookFor, minuteMs, minuteOf, noCounts, sumUp } from "./inbox/query.ts";
export { receiverInbox } from "./inbox/receiver-inbox.ts";
export {
  dayMs,
  isOver,
  isUnsigned,
  type Retention,
  type RetentionOptions,
  retentionOf,
} from "./inbox/retention.ts";
export {
  detailsOf,
  entryOf,
  jobOf,
  type Kept,
  newKept,
} from "./inbox/stored-delivery.ts";
export {
  applyOutcome,
  assertParked,
  assertReleasable,
  notFound,
  notWaiting,
  reopen,
} from "./inbox/transitions.ts";
export { setUnrefTimeout, systemClock } from "./lib/clock.ts";
export { describe } from "./lib/describe.ts";
export { printable } from "./lib/printable.ts";
export { onlyKnown } from "./lib/validate.ts";
