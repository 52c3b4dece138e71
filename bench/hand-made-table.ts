import { createRequire } from "node:module";

/** A notification as somebody would store it. */
export type StoredRow = readonly [
  id: string,
  key: Uint8Array,
  receivedAt: number,
  signature: string,
  headers: string,
  body: Uint8Array,
];

interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): unknown };
}

const columns = "id, key, received_at, signature, headers, body";

/** Opens a table that tells copies by their key; what is inserted is synced when it returns. */
export function openTable(path: string): { insert(rows: readonly StoredRow[]): void } {
  const database = open(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 10000;
    CREATE TABLE notification (
      number INTEGER PRIMARY KEY, id TEXT, key BLOB UNIQUE, received_at INTEGER, signature TEXT, headers TEXT, body BLOB,
      state TEXT DEFAULT 'received'
    );
  `);
  const insert = database.prepare(
    `INSERT OR IGNORE INTO notification (${columns}) VALUES (?, ?, ?, ?, ?, ?)`,
  );
  return {
    insert(rows) {
      database.exec("BEGIN IMMEDIATE");
      for (const row of rows) insert.run(...row);
      database.exec("COMMIT");
    },
  };
}

/** With the module that `@reporthook/sqlite` would take. */
function open(path: string): Database {
  const builtin = process.getBuiltinModule("node:sqlite") as Record<string, unknown> | undefined;
  const inbox = createRequire(import.meta.url).resolve("@reporthook/sqlite");
  const found = builtin?.["DatabaseSync"] ?? createRequire(inbox)("libsql");
  return new (found as new (path: string) => Database)(path);
}
