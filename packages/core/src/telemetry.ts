export type { Authorization } from "./client/authorizer.ts";
export { samplesOf } from "./health/counters.ts";
export type { ProblemCode, ReceiveResult } from "./http/answer.ts";
export { headerOf, plainHeaders } from "./http/incoming.ts";
export { describe } from "./lib/describe.ts";
export { redactSecrets } from "./lib/redact.ts";
export { safeGet } from "./lib/safe-get.ts";
export {
  type Instrument,
  type Instrumentation,
  instrumentation,
} from "./observe/instrumentation.ts";
