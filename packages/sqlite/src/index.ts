export { type SqliteEngine, sqliteEngine } from "./database/engine.ts";
export { type SqliteInboxOptions, sqliteInbox } from "./sqlite-inbox.ts";
