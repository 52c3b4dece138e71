import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder } from "./folder.ts";
import { sendAll, start } from "./processes/processes.ts";
import { postUntil, query, stored, until } from "./serve.ts";

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
  "an index of theirs": "CREATE INDEX theirs ON delivery (arrived_at)",
};

test.each([1, 2])("a person's work on the file with SQLite is no damage: %i", async (number) => {
  const path = join(makeFolder(), "inbox.db");
  const processes = [await start(path, true)];
  if (number > 1) processes.push(await start(path, true));
  const ids: string[] = [];
  const send = async (name: string): Promise<void> => {
    // Locked for a moment, it may refuse one.
    for (const { url } of processes) ids.push((await postUntil(url, 200)).id);
    const sent = await sendAll(processes, 15);
    expect(sent.length, name).toBe(15 * number);
    ids.push(...sent);
  };
  await send("nothing");
  for (const [name, sql] of Object.entries(acts)) {
    try {
      query(path, (_, exec) => exec(sql));
    } catch (error) {
      // Which is SQLite's answer to what can't be done while the file is in use.
      expect(String(error), name).toMatch(/locked/);
    }
    await send(name);
  }
  const handled = (): Set<string> => new Set(processes.flatMap((one) => one.handled));
  await until(() => ids.every((id) => handled().has(id)), "all to be handled");
  expect(ids.filter((id) => stored(path).get(id) !== 1)).toEqual([]);
  query(path, (all) => expect(all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]));
  for (const one of processes) await one.close();
});
