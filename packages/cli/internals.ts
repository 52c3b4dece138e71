// What the tests of other packages, and those in test/, reach into. Not published.
export { usualPorts } from "./src/dev/find-app.ts";
export type { Check, Times } from "./src/doctor/checks.ts";
export { sendTest } from "./src/doctor/checks.ts";
export { checkFramework, inFramework } from "./src/doctor/framework.ts";
export { checkIgnored } from "./src/doctor/machine.ts";
export { checkKey } from "./src/doctor/signed.ts";
export type { Terminal } from "./src/lib/terminal.ts";
export { createProgram } from "./src/program.ts";
