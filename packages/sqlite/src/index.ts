export type { SqliteInboxOptions } from "./main-thread/options.ts";
export { sqliteInbox } from "./sqlite-inbox.ts";
