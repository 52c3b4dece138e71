import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, serveFile } from "./folder.ts";
import { notification, post, postUntil, query, stored, until } from "./serve.ts";

/** SQL that somebody runs on the file while apps use it. */
const acts: Readonly<Record<string, string>> = {
  VACUUM: "VACUUM",
  ANALYZE: "ANALYZE",
  REINDEX: "REINDEX",
  "a checkpoint": "PRAGMA wal_checkpoint(PASSIVE)",
  "a checkpoint that waits for all": "PRAGMA wal_checkpoint(FULL)",
  "a checkpoint that starts the log over": "PRAGMA wal_checkpoint(RESTART)",
  "a checkpoint that empties the log": "PRAGMA wal_checkpoint(TRUNCATE)",
  "another journal mode, which is refused": "PRAGMA journal_mode = DELETE",
  "an exclusive lock": "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK",
  "an index of theirs": "CREATE INDEX theirs ON delivery (received_at)",
};

for (const processes of [1, 2]) {
  test(`what somebody does to the file with SQLite is no damage: ${processes} on it`, async () => {
    const path = join(makeFolder(), "inbox.db");
    const served = await Promise.all(Array.from({ length: processes }, () => serveFile(path)));
    const ids: string[] = [];
    const sendToAll = async (): Promise<void> => {
      for (const { url } of served) {
        for (let one = 0; one < 12; one++) {
          ids.push((await postUntil(url, 200, notification(3_000))).id);
        }
      }
    };
    await sendToAll();
    for (const [name, sql] of Object.entries(acts)) {
      try {
        query(path, (_, exec) => exec(sql));
      } catch (error) {
        // Which is SQLite's answer to what can't be done while the file is in use.
        expect(String(error), name).toMatch(/locked/);
      }
      await sendToAll();
      for (const { url } of served) expect((await post(url)).status, name).toBe(200);
    }
    for (const { receiver } of served) {
      await receiver.idle({ timeoutMs: 60_000 });
      expect((await receiver.health()).ready).toBe(true);
    }
    const handled = (): Set<string> => new Set(served.flatMap((one) => one.handled));
    await until(() => ids.every((id) => handled().has(id)), "all to be handled");
    expect(ids.filter((id) => stored(path).get(id) !== 1)).toEqual([]);
    query(path, (all) =>
      expect(all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]),
    );
  });
}
