export type { Authorization } from "./client/authorizer.ts";
export { answerBounds, samplesOf } from "./health/counters.ts";
export type { ProblemCode, ReceiveResult } from "./http/answer.ts";
export { headerOf, plainHeaders } from "./http/incoming.ts";
export { safeGet } from "./lib/safe-get.ts";
export { describe } from "./lib/text/describe.ts";
export { createTextRedactor, redactSecrets } from "./lib/text/redact.ts";
export { assertKnownKeys } from "./lib/validate.ts";
export {
  type Instrument,
  type Instrumentation,
  instrumentation,
} from "./observe/instrumentation.ts";
