export {
  createClient,
  createReceiver,
  DoNotRetry,
  memoryInbox,
  RetryAfter,
} from "@reporthook/core";
export { sqliteInbox } from "@reporthook/sqlite";
