// The parts that tests of other packages, and those in test/, reach into. Not published.

export { deferred } from "./src/deferred.ts";
export { unsigned, unsignedTest } from "./src/inbox/acts/retaining.ts";
export {
  type Consuming,
  createInboxFixture,
  endedAs,
  handled,
  type InboxFixture,
  later,
  type Step,
  valid,
} from "./src/inbox/fixture.ts";
export { deliveryMaker } from "./src/inbox/made.ts";
export { storedRequest } from "./src/inbox/requests.ts";
export { manualClock } from "./src/manual-clock.ts";
