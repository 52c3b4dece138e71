import { createHash, randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";

export interface Database {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: unknown[]): unknown };
  close(): unknown;
}

/**
 * The way without us on a file, as it is usually written: `node:http`, a table that tells copies by a hash, one INSERT for
 * each notification on the event loop, 200 once it is synced.
 */
export function fileByHand(folder: string): RequestListener {
  const database = openDatabase(join(folder, "by-hand.db"));
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE notification (
      number INTEGER PRIMARY KEY, id TEXT, key BLOB UNIQUE, received_at INTEGER, signature TEXT, headers TEXT, body BLOB,
      state TEXT DEFAULT 'received'
    );
  `);
  const insert = database.prepare(
    `INSERT OR IGNORE INTO notification (id, key, received_at, signature, headers, body)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  return async (req, res) => {
    const body = await bodyOf(req);
    const id = randomUUID();
    const signature = String(req.headers["x-svc-authorization"]);
    const key = createHash("sha256").update(signature).update(body).digest().subarray(0, 12);
    insert.run(id, key, Date.now(), signature, JSON.stringify(req.headers), body);
    const answer = JSON.stringify({ status: "accepted", id });
    res.writeHead(200, { "Content-Type": "application/json", "Content-Length": answer.length });
    res.end(answer);
  };
}

function bodyOf(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => resolve(Buffer.concat(chunks)));
  });
}

/** Opens a file with the module that `@reporthook/sqlite` would take. */
export function openDatabase(path: string): Database {
  const builtin = process.getBuiltinModule("node:sqlite") as Record<string, unknown> | undefined;
  const inbox = createRequire(import.meta.url).resolve("@reporthook/sqlite");
  const found = builtin?.["DatabaseSync"] ?? createRequire(inbox)("libsql");
  return new (found as new (path: string) => Database)(path);
}
