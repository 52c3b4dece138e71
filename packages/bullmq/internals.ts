// The parts that tests of other packages, and those in test/, reach into. Not published.
export { bullmqMessages } from "./src/log-messages.ts";
export { ReceiverQueues } from "./src/queues/queues.ts";
export { openConnection } from "./src/server/connection.ts";
export { bullmqSettingsOf } from "./src/server/settings.ts";
