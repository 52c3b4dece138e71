// "@reporthook/core/store": the parts of an inbox, so that every store makes the same decisions.

export { withoutToken } from "./callback-urls/callback-url.ts";
export { isLoopback } from "./client/client-options.ts";
export { ifNotSearchable } from "./errors.ts";
export { eventNames } from "./events/events.ts";
export { answerBounds, type Numbers, samplesOf } from "./health/counters.ts";
export { type InboxProcess, inside, Lookout } from "./health/health.ts";
export { problemKinds } from "./health/problem.ts";
export { processKeys } from "./health/process-report.ts";
export { ActLog, loggedActOf, maxActs, selectionFrom } from "./inbox/acts/act-log.ts";
export { ActCount, actOn, selectorOf, statesOf, unvouchedReasons } from "./inbox/acts/acting.ts";
export { isErased, isOfReport } from "./inbox/acts/erasing.ts";
export { countInBacklog, countStates, noBacklog, zeroCounts } from "./inbox/counts.ts";
export { dedupeKey } from "./inbox/dedupe-key.ts";
export {
  cutOff,
  isKeyRefused,
  isParked,
  park,
  parkedReasons,
  poison,
  reasonCodes,
  retryIn,
  signatureLifetimeMs,
  states,
} from "./inbox/delivery.ts";
export {
  ErrorGroups,
  errorKeyOf,
  groupErrors,
  type SomeOfGroup,
} from "./inbox/facts/error-groups.ts";
export {
  comparedErrors,
  countDeleted,
  expiringOf,
  factsOf,
  isFailing,
  isNotification,
  mostFrequent,
} from "./inbox/facts/facts.ts";
export { summarize } from "./inbox/facts/summary.ts";
export { idAt, newId, timeOf } from "./inbox/id.ts";
export { Notices, tellRecorded } from "./inbox/notices.ts";
export { filterEntries, idRange, isChosen } from "./inbox/query.ts";
export { getEntry, receiverInbox, toolView } from "./inbox/receiver-inbox.ts";
export { requestStates } from "./inbox/request-store.ts";
export {
  maxUnsigned,
  noticeMsOf,
  PruneCount,
  type Retention,
  type RetentionOptions,
  retentionOf,
  retentionStep,
  unsettledKeptMs,
  wholeRejected,
} from "./inbox/retention.ts";
export {
  detailsOf,
  entryOf,
  isUnsigned,
  jobOf,
  newStoredDelivery,
  ShownChanges,
  type StoredDelivery,
  type StoredHistory,
} from "./inbox/stored-delivery.ts";
export { laterMark, noMark, Timekeeper } from "./inbox/timekeeper.ts";
export {
  applyAct,
  applyErasing,
  applyOutcome,
  dropContent,
  isAttempt,
  type LivedMoment,
} from "./inbox/transitions.ts";
export { addCounts, sumOf } from "./lib/add-counts.ts";
export { InFlight, type InFlightItem } from "./lib/in-flight.ts";
export { loggerOf } from "./lib/log.ts";
export { tryGet } from "./lib/safe-get.ts";
export { describe } from "./lib/text/describe.ts";
export { counted, inWords } from "./lib/text/in-words.ts";
export { printable } from "./lib/text/printable.ts";
export { createTextRedactor } from "./lib/text/redact.ts";
export { setUnrefTimeout, systemClock } from "./lib/time/clock.ts";
export { LivedClock } from "./lib/time/lived-clock.ts";
export { Pace } from "./lib/time/pace.ts";
export { signMs } from "./lib/time/standstill.ts";
export { settlesWithin } from "./lib/time/timeout.ts";
export { dayMs, hourMs, minuteMs } from "./lib/time/units.ts";
export { assertKnownKeys } from "./lib/validate.ts";
export { type Erased, eraseReport } from "./reports/erasing.ts";
export { storedReports } from "./reports/reports.ts";
export type { StoredReports } from "./reports/reports-type.ts";
export { requestRecordOf } from "./reports/request.ts";
export { isRefusal } from "./reports/service-answer.ts";
