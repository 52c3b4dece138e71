export type { Authorization } from "./client/authorizer.ts";
export type { Decision, ProblemCode } from "./http/answer.ts";
export { headerOf, plainHeaders } from "./http/incoming.ts";
export { describe } from "./lib/describe.ts";
export { read, without } from "./lib/redact.ts";
export { type Around, type Seam, seam } from "./observe/instrumentation.ts";
