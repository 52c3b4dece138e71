import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { loadDriver } from "@reporthook/sqlite/internals";
import { expect, onTestFinished, test } from "vitest";
import { expectUnavailable } from "./expect.ts";
import { makeFolder, serveFile } from "./folder.ts";
import { start } from "./processes/processes.ts";
import { notification, post, postUntil, stored } from "./serve.ts";

async function three(url: string): Promise<string[]> {
  const answers = await Promise.all([post(url), post(url), post(url)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  return answers.map(({ id }) => id);
}

/** Asserts that these, and none twice, are in the file. */
function expectStored(path: string, ids: readonly string[]): void {
  const found = stored(path);
  expect(ids.filter((id) => found.get(id) !== 1)).toEqual([]);
  expect([...found.values()].filter((times) => times !== 1)).toEqual([]);
}

/** Has another process begin to read the file; resolves to what ends it. */
async function readByOther(path: string): Promise<() => Promise<unknown>> {
  const code = `
    const { Database, DatabaseSync } = { Database: undefined, ...require(process.argv[1]) };
    const one = new (DatabaseSync ?? Database ?? require(process.argv[1]))(process.argv[2]);
    one.exec("BEGIN");
    one.prepare("SELECT count(*) FROM delivery").get();
    process.send("reads");
    process.once("message", () => process.disconnect());
  `;
  const args = ["-e", code, loadDriver().module, path];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  return async () => {
    child.send("end");
    await once(child, "exit");
  };
}

for (const [what, files] of [
  ["the file", ["inbox.db"]],
  ["the log beside the file", ["inbox.db-wal"]],
  ["the file with all beside it", ["inbox.db", "inbox.db-wal", "inbox.db-shm"]],
] as const) {
  test(`an inbox answers 503 while ${what} is moved away, and goes on without a restart when it is put back`, async () => {
    const folder = makeFolder();
    const path = join(folder, "inbox.db");
    const served = await serveFile(path);
    const ids = await three(served.url);
    for (const file of files) renameSync(join(folder, file), join(folder, `${file}.away`));
    const name = files[0].replaceAll(".", "\\.");
    const why = new RegExp(`${name} was deleted while it was open: put the file back`);
    await expectUnavailable(served, why);
    for (const file of files) renameSync(join(folder, `${file}.away`), join(folder, file));
    ids.push((await postUntil(served.url, 200)).id, ...(await three(served.url)));
    await served.receiver.idle({ timeoutMs: 30_000 });
    await served.close();
    expectStored(path, ids);
  });
}

test("the file is deleted while it is open: 503, and after a restart the inbox begins empty", async () => {
  const path = join(makeFolder(), "inbox.db");
  const served = await serveFile(path);
  await three(served.url);
  for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file);
  await expectUnavailable(
    served,
    /inbox\.db was deleted while it was open.*copy it before you end the app/,
  );
  await served.close().catch(() => {});
  expect(existsSync(path)).toBe(false);
  const again = await serveFile(path);
  const { id } = await postUntil(again.url, 200);
  await again.close();
  expect([...stored(path).keys()]).toEqual([id]);
});

test("the file is replaced by another while it is open: 503, and after a restart the other one is used", async () => {
  const folder = makeFolder();
  const [path, other] = [join(folder, "inbox.db"), join(folder, "other.db")];
  const before = await serveFile(other);
  const ids = await three(before.url);
  await before.close();
  const served = await serveFile(path);
  await three(served.url);
  renameSync(other, path);
  await expectUnavailable(served, /inbox\.db was replaced while it was open: put the file back/);
  await served.close().catch(() => {});
  const again = await serveFile(path);
  ids.push((await postUntil(again.url, 200)).id);
  await again.close();
  expectStored(path, ids);
  expect(stored(path).size).toBe(4);
});

test("the log is deleted while it is open: 503, and after a restart all that was acknowledged is there", async () => {
  const path = join(makeFolder(), "inbox.db");
  const served = await serveFile(path);
  const ids = await three(served.url);
  rmSync(`${path}-wal`);
  await expectUnavailable(served, /inbox\.db-wal was deleted while it was open/);
  await served.close().catch(() => {});
  const again = await serveFile(path);
  ids.push((await postUntil(again.url, 200)).id);
  await again.close();
  expectStored(path, ids);
});

test("an inbox opens its file again whose log another process has deleted, as the last to close it, for the app had read the file by itself: nothing is lost", async () => {
  const path = join(makeFolder(), "inbox.db");
  const served = await serveFile(path);
  const ids = await three(served.url);
  const other = await start(path, true);
  ids.push((await postUntil(other.url, 200)).id);
  // Closing it drops the locks by which the other process would know of this one.
  readFileSync(path);
  await other.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
  ids.push((await postUntil(served.url, 200)).id, ...(await three(served.url)));
  await served.receiver.idle({ timeoutMs: 30_000 });
  expect((await served.receiver.health()).ready).toBe(true);
  await served.close();
  expectStored(path, ids);
  expect(existsSync(`${path}-damaged`)).toBe(false);
});

test("an inbox whose log and index are deleted while another program reads goes on once that has ended: nothing is lost", async () => {
  const path = join(makeFolder(), "inbox.db");
  const served = await serveFile(path);
  const ids = await three(served.url);
  const end = await readByOther(path);
  ids.push(...(await three(served.url)));
  for (const file of [`${path}-wal`, `${path}-shm`]) rmSync(file);
  // It would have been opened again by then.
  for (const answered = performance.now(); performance.now() - answered < 6_000; ) {
    expect((await post(served.url)).status).toBe(503);
  }
  await end();
  ids.push((await postUntil(served.url, 200)).id);
  await served.close();
  expectStored(path, ids);
});

test("the file is emptied while it is open: 503, and a restart does not drop its log", async () => {
  const path = join(makeFolder(), "inbox.db");
  const served = await serveFile(path);
  await three(served.url);
  truncateSync(path);
  await expectUnavailable(served, /inbox\.db was emptied while it was open/);
  await served.close();
  await expectUnavailable(await serveFile(path), /inbox\.db is missing or empty, and .*-wal holds/);
});

test("an older copy is written over the file: 503 for good; a restart mixes nothing, and goes on with the copy alone", async () => {
  const folder = makeFolder();
  const path = join(folder, "inbox.db");
  const before = await serveFile(path);
  const ids = await three(before.url);
  await before.receiver.idle({ timeoutMs: 30_000 });
  await before.close();
  copyFileSync(path, join(folder, "copy.db"));
  const served = await serveFile(path);
  for (let one = 0; one < 80; one++) await post(served.url, notification(3_000));
  // Else a checkpoint may go over the copy: see FileContent.checkpointed().
  await served.receiver.idle({ timeoutMs: 30_000 });
  writeFileSync(path, readFileSync(join(folder, "copy.db")));
  const why = /inbox\.db was overwritten by an older copy or another file while it was open/;
  for (let one = 0; one < 3; one++) await expectUnavailable(served, why);
  await served.close();
  const refused = await serveFile(path);
  await expectUnavailable(
    refused,
    /inbox\.db is an older copy or another file, and .*-wal holds.* It is .*inbox\.db-damaged now/,
  );
  await refused.close();
  const damaged = `${path}-damaged`;
  expect(readFileSync(damaged).equals(readFileSync(join(folder, "copy.db")))).toBe(true);
  // As the runbook says.
  renameSync(damaged, path);
  for (const end of ["-wal", "-shm"]) rmSync(damaged + end);
  const again = await serveFile(path);
  ids.push((await postUntil(again.url, 200)).id);
  await again.close();
  expectStored(path, ids);
});

/** Serves a copy, stores some more, and has an older copy written over the file; resolves once the damage is seen. */
async function damageByCopy(path: string, copy: string): Promise<void> {
  const served = await serveFile(path);
  for (let one = 0; one < 80; one++) await post(served.url, notification(3_000));
  await served.receiver.idle({ timeoutMs: 30_000 });
  writeFileSync(path, readFileSync(copy));
  await expectUnavailable(served, /inbox\.db (was overwritten|is damaged)/);
  await served.close();
}

async function emptyCopy(path: string): Promise<string> {
  const served = await serveFile(path);
  await three(served.url);
  await served.receiver.idle({ timeoutMs: 30_000 });
  await served.close();
  const copy = `${path}.copy`;
  copyFileSync(path, copy);
  return copy;
}

test("a damaged file that waits to be recovered stays where it is when the next one is set aside", async () => {
  const path = join(makeFolder(), "inbox.db");
  const copy = await emptyCopy(path);
  await damageByCopy(path, copy);
  const waiting = ["-damaged", "-damaged-wal"].map((end) => path + end);
  const before = waiting.map((file) => readFileSync(file));
  expect(before.map(({ length }) => length > 0)).toEqual([true, true]);
  copyFileSync(copy, path);
  await damageByCopy(path, copy);
  expect(waiting.map((file, index) => before[index]?.equals(readFileSync(file)))).toEqual([
    true,
    true,
  ]);
  expect(existsSync(`${path}-damaged-2`)).toBe(true);
  // A restart checks the last one; a checkpoint may have gone over the copy.
  const refused = /inbox\.db is (an older copy or another file|damaged)/;
  await expectUnavailable(await serveFile(path), refused);
  expect(existsSync(`${path}-damaged-2`)).toBe(true);
});

test("a damaged file of an earlier day is not put in place of a file whose log is there", async () => {
  const path = join(makeFolder(), "inbox.db");
  const copy = await emptyCopy(path);
  await damageByCopy(path, copy);
  copyFileSync(copy, path);
  const served = await serveFile(path);
  const ids = await three(served.url);
  // As a kill leaves them, and somebody who moves the file alone.
  const [file, log] = [readFileSync(path), readFileSync(`${path}-wal`)];
  await served.close();
  rmSync(path);
  writeFileSync(`${path}-wal`, log);
  const refused = await serveFile(path);
  await expectUnavailable(refused, /inbox\.db is missing or empty, and .*-wal holds/);
  await refused.close();
  expect(readFileSync(`${path}-wal`).equals(log)).toBe(true);
  writeFileSync(path, file);
  const again = await serveFile(path);
  ids.push((await postUntil(again.url, 200)).id);
  await again.close();
  const found = stored(path);
  expect(ids.filter((id) => found.get(id) !== 1)).toEqual([]);
});
