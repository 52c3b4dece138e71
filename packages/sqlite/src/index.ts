export { type SqliteInboxOptions, sqliteInbox } from "./sqlite-inbox.ts";
