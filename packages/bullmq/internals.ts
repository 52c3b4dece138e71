// The parts that tests of other packages, and those in test/, reach into. Not published.
export { bullmqMessages } from "./src/log-messages.ts";
