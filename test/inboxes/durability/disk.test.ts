import { join } from "node:path";
import { gate } from "@reporthook/test-support/gate";
import { fill, mountTiny, protect, remount } from "@reporthook/test-support/mounts";
import { missingForMounts, testWith } from "@reporthook/test-support/needs";
import { expect } from "vitest";
import { expectUnavailable, expectUnready } from "./expect.ts";
import { makeFolder, serveFile } from "./folder.ts";
import { post, postUntil, stored, until } from "./serve.ts";

const test = testWith(missingForMounts());

const full = /inbox\.db: the disk.* is full: free space/;

test("a full disk: 503 until there is space again, and results of handlers are recorded then", async () => {
  const folder = makeFolder();
  mountTiny(folder);
  const path = join(folder, "inbox.db");
  const released = gate();
  const begun: string[] = [];
  const served = await serveFile(path, {
    async handle(id) {
      begun.push(id);
      await released.opened;
    },
  });
  const { url, receiver, handled } = served;
  const answers = await Promise.all([post(url), post(url), post(url)]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  await until(() => begun.length === 3, "the handlers to begin");
  const free = fill(folder);
  await expectUnavailable(served, full);
  released.open();
  await until(() => handled.length === 3, "the handlers to end");
  await expectUnavailable(served, full);
  free();
  const last = await postUntil(url, 200);
  await receiver.idle({ timeoutMs: 30_000 });
  expect((await receiver.inbox.counts()).handled).toBe(stored(path).size);
  for (const { id } of [...answers, last]) {
    expect(handled.filter((one) => one === id)).toEqual([id]);
    expect(stored(path).get(id)).toBe(1);
  }
  expect((await receiver.health()).ready).toBe(true);
});

test("a disk that was full before the first delivery: not ready until there is space", async () => {
  const folder = makeFolder();
  mountTiny(folder);
  const served = await serveFile(join(folder, "inbox.db"));
  await until(async () => (await served.receiver.health()).ready, "the receiver to be ready");
  const free = fill(folder);
  await expectUnavailable(served, full);
  for (let look = 0; look < 5; look++) {
    expectUnready(await served.receiver.health(), full);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  free();
  await until(async () => (await served.receiver.health()).ready, "the receiver to be ready");
  expect((await post(served.url)).status).toBe(200);
});

test("a disk that is full at the start: 503 until there is space, without a restart", async () => {
  const folder = makeFolder();
  mountTiny(folder);
  const free = fill(folder);
  const served = await serveFile(join(folder, "inbox.db"));
  await expectUnavailable(served, full);
  free();
  await postUntil(served.url, 200);
});

test("a disk that is read-only at the start: 503 until it can be written, without a restart", async () => {
  const folder = makeFolder();
  mountTiny(folder);
  const path = join(folder, "inbox.db");
  const why = /inbox\.db: the file or its folder can't be written: give the app the right to/;
  remount(folder, "ro");
  const fresh = await serveFile(path);
  await expectUnavailable(fresh, why);
  remount(folder, "rw");
  const { id } = await postUntil(fresh.url, 200);
  await fresh.close();
  remount(folder, "ro");
  const again = await serveFile(path);
  await expectUnavailable(again, why);
  remount(folder, "rw");
  await postUntil(again.url, 200);
  expect(stored(path).get(id)).toBe(1);
});

test("a file that may only be read at the start: 503 until it can be written, without a restart", async () => {
  const folder = makeFolder();
  const path = join(folder, "inbox.db");
  const before = await serveFile(path);
  const { id } = await postUntil(before.url, 200);
  await before.close();
  const free = protect(path);
  const served = await serveFile(path);
  try {
    await expectUnavailable(served, /the file or its folder can't be written/);
  } finally {
    free();
  }
  await postUntil(served.url, 200);
  expect(stored(path).get(id)).toBe(1);
});

test("a disk that is full at the end: close() rejects with the cause in words, and nothing is lost", async () => {
  const folder = makeFolder();
  mountTiny(folder);
  const path = join(folder, "inbox.db");
  const served = await serveFile(path);
  const { id } = await post(served.url);
  await served.receiver.idle();
  const free = fill(folder);
  await expectUnavailable(served, full);
  await expect(served.receiver.close()).rejects.toThrow(full);
  free();
  expect(stored(path).get(id)).toBe(1);
});
