import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { type SqliteInboxOptions, sqliteInbox } from "@reporthook/sqlite";
import { expect, test } from "vitest";
import { expectUnavailable } from "./expect.ts";
import { makeFolder, serveFile } from "./folder.ts";
import { notification, post, postUntil, query } from "./serve.ts";

const pageBytes = 4_096;
// In the header of the file. A change through a connection would be in the file only once the driver has closed it, at an unknown time.
const userVersionAt = 60;

let filled: Promise<Buffer> | undefined;

/** An inbox with so much in it that it has pages of every kind, closed in order. */
async function filledInbox(): Promise<string> {
  filled ??= fillInbox();
  const path = join(makeFolder(), "inbox.db");
  writeFileSync(path, await filled);
  return path;
}

async function fillInbox(): Promise<Buffer> {
  const path = join(makeFolder(), "inbox.db");
  const { url, receiver, close } = await serveFile(path);
  for (let round = 0; round < 5; round++) {
    await Promise.all(Array.from({ length: 20 }, () => post(url, notification(3_000))));
  }
  await receiver.idle({ timeoutMs: 30_000 });
  await close();
  return readFileSync(path);
}

/** Overwrites all pages but the first. */
function overwrite(path: string): void {
  const file = openSync(path, "r+");
  const garbage = Buffer.alloc(statSync(path).size - pageBytes, 0xa5);
  writeSync(file, garbage, 0, garbage.length, pageBytes);
  closeSync(file);
}

const sqlite = (sql: string) => (path: string) => query(path, (_, exec) => exec(sql));

for (const [what, make, why] of [
  [
    "is no database",
    (path: string) => writeFileSync(path, "name,city\n".repeat(1_000)),
    /inbox\.db: the file is no SQLite database: name another path/,
  ],
  [
    "belongs to another application",
    sqlite("CREATE TABLE customer (name TEXT)"),
    /inbox\.db is the SQLite file of another application: name another file/,
  ],
  [
    "belongs to another application that gave it a number",
    sqlite("PRAGMA application_id = 77; CREATE TABLE customer (name TEXT)"),
    /inbox\.db is the SQLite file of another application: name another file/,
  ],
  [
    "is a folder",
    (path: string) => mkdirSync(path),
    /inbox\.db: this is a folder: name a file in it, like .*inbox\.db\/inbox\.db/,
  ],
] as const) {
  test(`a file that ${what} is refused, and stays as it was`, async () => {
    const path = join(makeFolder(), "inbox.db");
    make(path);
    const isFile = statSync(path).isFile();
    const before = isFile ? readFileSync(path) : null;
    const served = await serveFile(path);
    await expectUnavailable(served, why);
    await served.close();
    if (isFile) expect(readFileSync(path).equals(before as Buffer)).toBe(true);
    expect(readdirSync(dirname(path))).toEqual(["inbox.db"]);
  });
}

for (const [what, by, why] of [
  [
    "a newer",
    1,
    /inbox\.db was written by a newer version of @reporthook\/sqlite .* update the pa/,
  ],
  ["an older", -1, /inbox\.db was written by an older version of .* work off .* name a new file/],
] as const) {
  test(`a file of ${what} version is refused, and stays as it was`, async () => {
    const path = await filledInbox();
    const before = readFileSync(path);
    before.writeUInt32BE(before.readUInt32BE(userVersionAt) + by, userVersionAt);
    writeFileSync(path, before);
    const served = await serveFile(path);
    await expectUnavailable(served, why);
    await served.close();
    expect(readFileSync(path).equals(before)).toBe(true);
  });
}

test("a missing folder: 503 with its name, until it is made, without a restart", async () => {
  const folder = join(makeFolder(), "missing");
  const served = await serveFile(join(folder, "inbox.db"));
  await expectUnavailable(served, /missing.inbox\.db: the folder .*missing is not there: create/);
  mkdirSync(folder);
  await postUntil(served.url, 200);
});

for (const [what, make, why] of [
  ["is missing", () => {}, /There is no .*inbox\.db: name the app's file/],
  [
    "is empty",
    (path: string) => writeFileSync(path, ""),
    /inbox\.db is no inbox yet: let the app open it first/,
  ],
] as const) {
  test(`a file that ${what} is neither made nor changed with migrate: false`, async () => {
    const path = join(makeFolder(), "inbox.db");
    make(path);
    const before = readdirSync(dirname(path));
    const options: SqliteInboxOptions = { migrate: false };
    const inbox = sqliteInbox(path, options);
    await expect(inbox.open()).rejects.toMatchObject({
      code: "inbox_failed",
      message: expect.stringMatching(why),
    });
    await inbox.close();
    expect(readdirSync(dirname(path))).toEqual(before);
    if (existsSync(path)) expect(statSync(path).size).toBe(0);
  });
}

const damaged = /inbox\.db: the file is damaged: stop the app, keep a copy, restore a backup or/;

test("a file with overwritten pages: 503", async () => {
  const path = await filledInbox();
  overwrite(path);
  await expectUnavailable(await serveFile(path), damaged);
});

test("a file that was cut off: 503", async () => {
  const path = await filledInbox();
  truncateSync(path, 2 * pageBytes);
  await expectUnavailable(await serveFile(path), damaged);
});

test("a file whose pages are overwritten while it is open: 503 for good, and a restart refuses it", async () => {
  const path = await filledInbox();
  const { receiver, url, close } = await serveFile(path);
  await postUntil(url, 200);
  overwrite(path);
  const why =
    /inbox\.db (was overwritten|is damaged).*: nothing is written to it any more\. Restart the app/;
  await expect(receiver.inbox.list({ state: "handled" })).rejects.toThrow(why);
  expect((await post(url)).status).toBe(503);
  await close();
  const again = await serveFile(path);
  await expectUnavailable(again, /inbox\.db is damaged: restore a backup, or recover it/);
  await again.close();
  expect(readdirSync(dirname(path))).toContain("inbox.db-damaged");
});
