// The parts that tests of other packages, and those in test/, reach into. Not published.
export { Recognizer } from "./src/events/recognize.ts";
export { HandleStage } from "./src/handle/handle-stage.ts";
export { Handlers } from "./src/handle/handlers.ts";
export { ProcessState } from "./src/health/process-state.ts";

export { type Job, keyRefused } from "./src/inbox/delivery.ts";
export { idAt } from "./src/inbox/id.ts";
export type { Inbox } from "./src/inbox/inbox.ts";
export { Heap } from "./src/lib/heap.ts";
export { systemClock } from "./src/lib/time/clock.ts";
export { LivedClock } from "./src/lib/time/lived-clock.ts";
export { messages } from "./src/log-messages.ts";
export { Reporter } from "./src/observe/reporter.ts";
export { receiverSettingsOf } from "./src/options/receiver-settings.ts";
export { refusalWarnings } from "./src/receive/endpoint.ts";
export { KnownRequests } from "./src/reports/known-requests.ts";
export { VerifyStage } from "./src/verify/verify-stage.ts";
