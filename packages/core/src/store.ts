// "@reporthook/core/store": what an inbox of one's own is made of, so that every store decides alike.
export { quietTimeout, systemClock } from "./clock.ts";
export { mustBeParked, mustBeReleasable, notFound, notWaiting } from "./deciding.ts";
export {
  again,
  isParked,
  leave,
  parkedReasons,
  signatureLifetimeMs,
  states,
  stopped,
} from "./delivery.ts";
export {
  dayMs,
  detailsOf,
  entryOf,
  isOver,
  isUnsigned,
  jobOf,
  type Kept,
  newKept,
  type Retention,
  record,
  rerun,
} from "./entry.ts";
export { describe } from "./errors.ts";
export { onlyKnown } from "./given.ts";
export { watchHealth } from "./health.ts";
export { idAt, timeOf } from "./id.ts";
export { isKeyRefused } from "./key-refused.ts";
export { idRange, isChosen, lookFor, minuteMs, minuteOf, noCounts, sumUp } from "./look.ts";
export { printable } from "./printable.ts";
export { receiverInbox } from "./receiver-inbox.ts";
export { type RetentionOptions, retentionOf } from "./retention.ts";
