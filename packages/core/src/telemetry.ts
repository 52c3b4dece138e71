export type { Decision, ProblemCode } from "./acknowledge.ts";
export { type Around, type Seam, seam } from "./around.ts";
export { describe } from "./errors.ts";
export { headerOf } from "./incoming.ts";
export { read, without } from "./redact.ts";
export type { Authorization } from "./verify.ts";
