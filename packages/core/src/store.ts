// "@reporthook/core/store": what an inbox of one's own is made of, so that every store decides alike.

export {
  again,
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
export { isKeyRefused } from "./inbox/key-refused.ts";
export { idRange, isChosen, lookFor, minuteMs, minuteOf, noCounts, sumUp } from "./inbox/query.ts";
export { receiverInbox } from "./inbox/receiver-inbox.ts";
export { type RetentionOptions, retentionOf } from "./inbox/retention.ts";
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
} from "./inbox/stored-delivery.ts";
export { mustBeParked, mustBeReleasable, notFound, notWaiting } from "./inbox/transitions.ts";
export { quietTimeout, systemClock } from "./lib/clock.ts";
export { describe } from "./lib/describe.ts";
export { printable } from "./lib/printable.ts";
export { onlyKnown } from "./lib/validate.ts";
