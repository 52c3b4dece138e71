// The parts that tests of other packages, and those in test/, reach into. Not published.
export { usualPorts } from "./src/commands/dev.ts";
export type { Check, Times } from "./src/doctor/checks.ts";
export { checkFramework, checkIgnored, inFramework, sendTest } from "./src/doctor/checks.ts";
export { checkKey } from "./src/doctor/service.ts";
export type { Terminal } from "./src/lib/terminal.ts";
export { createProgram } from "./src/program.ts";
