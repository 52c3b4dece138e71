export { type BullmqInboxOptions, bullmqInbox } from "./bullmq-inbox.ts";
export { queueNames } from "./queues/places.ts";
