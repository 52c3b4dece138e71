export { describe } from "./errors.ts";
export type { Decision, ProblemCode } from "./http/answer.ts";
export { headerOf } from "./http/incoming.ts";
export { read, without } from "./lib/redact.ts";
export { type Around, type Seam, seam } from "./observe/instrumentation.ts";
export type { Authorization } from "./process/authorize.ts";
