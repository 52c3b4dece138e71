import { rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { Health } from "@reporthook/core";
import { missingForShim, testWith } from "@reporthook/test-support/needs";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { expect } from "vitest";
import { cutPower, type Luck, readTrace, syncsOf, type TraceEvent } from "./disk/power-cut.ts";
import { Site } from "./disk/shimmed.ts";
import { expectLogged, expectUnready } from "./expect.ts";
import { type Answered, notification, post, postUntil, stored, until } from "./serve.ts";

const root = temporaryFolder();

const test = testWith(missingForShim());
const { EIO, ENOSPC, EROFS } = constants.errno;
const patient = { ackMs: 30_000 };

const logSyncs = (events: readonly TraceEvent[]): number => syncsOf(events, "log");
const statusesOf = (answers: readonly Answered[]): number[] => answers.map(({ status }) => status);

let powerCuts = 0;
function expectAcknowledged(events: readonly TraceEvent[], luck: Luck): void {
  const disk = cutPower(events, luck);
  // A new name: some drivers hold on to a file until its statements are collected.
  const path = join(root, `after-power-cut-${++powerCuts}.db`);
  writeFileSync(path, disk.database ?? "");
  if (disk.log !== null) writeFileSync(`${path}-wal`, disk.log);
  const found = stored(path);
  const answers = events.flatMap((event) => (event.type === "answer" ? [event.id] : []));
  expect(answers.filter((id) => found.get(id) !== 1)).toEqual([]);
}

test("a power cut after any acknowledgement loses nothing acknowledged", async () => {
  const site = new Site(root, "power");
  const acknowledge = async (url: string): Promise<void> => {
    const { status, id } = await post(url);
    // Written before the next one is sent; after the sync, or the cut below would show it.
    if (status === 200) site.acknowledged(id);
    expect(status).toBe(200);
  };
  // The second start begins with what the first one brought from the log into the file.
  for (let start = 0; start < 2; start++) {
    const server = await site.start(patient);
    for (let one = 0; one < 8; one++) await acknowledge(server.url);
    await Promise.all(Array.from({ length: 10 }, () => acknowledge(server.url)));
    await server.ask("close");
  }
  const events = readTrace(site.trace);
  expect(logSyncs(events)).toBeGreaterThan(0);
  const cuts = events.flatMap(({ type }, index) => (type === "answer" ? [index + 1] : []));
  expect(cuts.length).toBe(36);
  for (const cut of [...cuts, events.length]) {
    for (const luck of ["none", "some", "all"] as const) {
      expectAcknowledged(events.slice(0, cut), luck);
    }
  }
});

test("nothing is acknowledged while the sync lasts; a hundred that wait share the next one", async () => {
  const site = new Site(root, "held");
  const { url, ask } = await site.start({ ...patient, works: false });
  expect((await post(url)).status).toBe(200);
  expect(await ask("waiting")).toBe(1);
  const before = logSyncs(readTrace(site.trace));
  site.order("hold");
  const answered: Answered[] = [];
  const waiting = Array.from({ length: 100 }, () => post(url).then((one) => answered.push(one)));
  // The first one waits for a handler as well.
  await until(async () => (await ask("waiting")) === 101, "a hundred that wait");
  expect(answered).toEqual([]);
  site.order({});
  await Promise.all(waiting);
  expect(statusesOf(answered)).toEqual(Array(100).fill(200));
  // The one that was held, and the one for all that came meanwhile.
  expect(logSyncs(readTrace(site.trace)) - before).toBeLessThanOrEqual(2);
  expect(stored(site.path).size).toBe(101);
});

test("each of several requests in a row waits for its own sync, as long as that takes", async () => {
  const site = new Site(root, "slow");
  const { url } = await site.start(patient);
  expect((await post(url)).status).toBe(200);
  const before = logSyncs(readTrace(site.trace));
  site.order({ syncMs: 50 });
  for (let one = 0; one < 5; one++) {
    const from = performance.now();
    expect((await post(url)).status).toBe(200);
    expect(performance.now() - from).toBeGreaterThanOrEqual(50);
  }
  expect(logSyncs(readTrace(site.trace)) - before).toBeGreaterThanOrEqual(5);
});

for (const [name, orders, why] of [
  ["a sync fails", { syncFails: EIO }, /inbox\.db: the disk fails or is full: free space/],
  ["the disk is full", { writeFails: ENOSPC }, /inbox\.db: the disk is full: free space/],
  ["the file can't be written any more", { writeFails: EROFS }, /inbox\.db: the disk fails/],
] as const) {
  test(`an inbox answers 503 and is not ready when ${name} while it is open, then again 200 without a restart`, async () => {
    const site = new Site(root, name.replaceAll(/\W/g, "-"));
    const { url, ask, kill } = await site.start(patient);
    const acknowledged: string[] = [];
    for (let one = 0; one < 3; one++) acknowledged.push((await post(url)).id);
    site.order(orders);
    const refused = await Promise.all(Array.from({ length: 20 }, () => post(url)));
    for (const one of refused) {
      expect(one).toEqual({ status: 503, said: "inbox_unavailable", id: "", retryAfter: "5" });
    }
    expectLogged(await ask("lines"), why);
    // Nor does it become ready by itself while the cause lasts.
    for (let look = 0; look < 3; look++) {
      expectUnready(await ask("health"), why);
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    site.order({});
    acknowledged.push((await postUntil(url, 200)).id);
    await until(async () => (await ask("health")).ready, "the receiver to be ready");
    await until(async () => (await ask("handled")).length >= 4, "the handlers");
    await kill();
    const found = stored(site.path);
    expect(acknowledged.map((id) => found.get(id))).toEqual([1, 1, 1, 1]);
    expect([...found.values()].every((times) => times === 1)).toBe(true);
  });
}

test("a disk that gives no answer: not acknowledged, not ready, and close() does not wait for it", async () => {
  const site = new Site(root, "hung");
  const { url, ask } = await site.start({ ackMs: 4_000, works: false });
  expect((await post(url)).status).toBe(200);
  site.order("hold");
  const sent = post(url);
  await until(async () => (await ask("waiting")) === 2, "the second one to be with the inbox");
  const health = async () => (await ask("health")) as Health;
  await until(async () => !(await health()).ready, "the receiver not to be ready");
  expectUnready(await health(), /The inbox gave no answer within 4000 ms/);
  expect(await sent).toMatchObject({ status: 503, said: "inbox_unavailable" });
  expect(await ask("closing")).toBe("The inbox could not be closed: it gives no answer");
  site.order({});
});

test("a disk that does not keep up: overloaded beyond 64 MiB, and every acknowledged delivery is stored", async () => {
  const site = new Site(root, "overload");
  rmSync(site.trace);
  const { url, ask } = await site.start(patient);
  expect((await post(url)).status).toBe(200);
  const before = await ask("memory");
  site.order("hold");
  const bytes = 250_000;
  const answered: Answered[] = [];
  const sent = Array.from({ length: 400 }, () =>
    post(url, notification(bytes)).then((one) => answered.push(one)),
  );
  await until(() => answered.length > 100, "those beyond the limit");
  expect(new Set(answered.map(({ said }) => said))).toEqual(new Set(["overloaded"]));
  expect(answered[0]).toEqual({ status: 503, said: "overloaded", id: "", retryAfter: "5" });
  expect((await ask("memory")) - before).toBeLessThan(500);
  site.order({});
  await Promise.all(sent);
  const kept = answered.filter(({ status }) => status === 200);
  expect(kept.length).toBeGreaterThan(200);
  expect(kept.length + answered.filter(({ said }) => said === "overloaded").length).toBe(400);
  const found = stored(site.path);
  expect(kept.filter(({ id }) => found.get(id) !== 1)).toEqual([]);
});
