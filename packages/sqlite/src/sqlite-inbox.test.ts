import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Arrival, EntryDetails, Inbox, Outcome, Stage } from "@reporthook/core";
import { dayMs, states, wholeRejected } from "@reporthook/core/store";
import { startScript } from "@reporthook/test-support/script";
import { temporaryFolder, temporaryPath } from "@reporthook/test-support/temporary";
import {
  type Consuming,
  createInboxFixture,
  deferred,
  endedAs,
  handled,
  type InboxFixture,
  later,
  valid,
} from "@reporthook/testing/internals";
import fc from "fast-check";
import { describe, expect, it, type TestContext, vi } from "vitest";
import { loadDriver } from "./database/driver.ts";
import { type SqliteInboxOptions, sqliteInbox } from "./index.ts";
import { heartbeatMs } from "./protocol/protocol.ts";

const folder = temporaryFolder();

const patienceMs = 60_000;
let files = 0;
const open = () => sqliteInbox(temporaryPath());
const pathOf = ({ identity }: Inbox): string => String(identity).slice("sqlite:".length);

/** The fixture of an inbox, which ends with the test: others run meanwhile, so that its context has to tell which that is. */
function fixture(inbox: Inbox, { onTestFinished }: TestContext): InboxFixture {
  const made = createInboxFixture(inbox, patienceMs);
  onTestFinished(() => made.end());
  return made;
}

/** The fixtures of two inboxes on one file, as two processes have it. */
function pair(context: TestContext): readonly [InboxFixture, InboxFixture] {
  const path = temporaryPath();
  return [fixture(sqliteInbox(path), context), fixture(sqliteInbox(path), context)];
}

/** An inbox that is open, with its path. */
async function opened(context: TestContext): Promise<InboxFixture & { readonly path: string }> {
  const path = temporaryPath();
  const inbox = sqliteInbox(path);
  await inbox.open();
  return { ...fixture(inbox, context), path };
}

/** Changes the file, as another process does. */
function change(path: string, sql: string): void {
  const file = loadDriver().open(path);
  file.exec("PRAGMA busy_timeout = 3000");
  file.exec(sql);
  file.close();
}

/** The columns of whole numbers with a value that SQLite does not hold as one. */
function numbersOfOtherTypes(path: string): unknown[] {
  const file = loadDriver().open(path);
  const columns = file.prepare(
    `SELECT t.name AS "table", c.name AS "column" FROM sqlite_master t, pragma_table_info(t.name) c
     WHERE t.type = 'table' AND c.type = 'INTEGER'`,
  );
  const found = columns.all().filter(({ table, column }) => {
    const isOther = `typeof("${column}") NOT IN ('integer', 'null')`;
    return file.prepare(`SELECT 1 FROM "${table}" WHERE ${isOther}`).get() !== undefined;
  });
  file.close();
  return found;
}

/** A consumer whose work was short a hundred times, so that more is leased ahead than runs, and now hangs. */
async function hanging({ inbox, put, consume, until }: InboxFixture) {
  const opened = deferred();
  let hangs = false;
  const { jobs } = consume("verify", async () => {
    if (hangs) await opened.promise;
    return valid;
  });
  for (let count = 0; count < 100; count++) await put();
  await until(async () => (await inbox.counts()).verified === 100, "the first ones are done");
  hangs = true;
  await put();
  await until(() => jobs.length === 101, "one hangs");
  return { jobs, goOn: () => opened.resolve() };
}

describe.concurrent("files", () => {
  it("retry() finds about 16 MiB of rejected deliveries at most, whichever process rejected them", async (context) => {
    const [one, other] = pair(context);
    const body = `"${"a".repeat(200_000)}"`;
    const invalid = endedAs("rejected", "invalid_signature");
    // Each rejects one, and then almost as much as is kept.
    const many = Math.floor(wholeRejected.bytes / body.length) - 5;
    let signatures = 0;
    for (const count of [1, many]) {
      for (const { put, work } of [one, other]) {
        for (let left = count; left > 0; left--) await put({ body, signature: `${++signatures}` });
        await work("verify", ...Array.from({ length: count }, () => invalid));
      }
    }
    const kept = await one.act("retry", { state: "rejected" }, { dryRun: true });
    // Each process adds them up after 16 that it rejected.
    expect(kept * body.length).toBeLessThanOrEqual(wholeRejected.bytes + 2 * 16 * body.length);
    expect(kept * body.length).toBeGreaterThan(wholeRejected.bytes / 2);
  });

  it("sqliteInbox() refuses wrong options and paths", () => {
    const refused = (path: unknown, options?: unknown) => (message: RegExp) =>
      expect(() => sqliteInbox(path as string, options as SqliteInboxOptions)).toThrow(message);
    refused("")(/must name a file/);
    refused(":memory:")(/use memoryInbox\(\)/);
    refused(7)(/must name a file/);
    refused("inbox\0.db")(/must name a file/);
    for (const none of [" ", ":memory:", ":memory:?cache=shared", null, undefined]) {
      refused(none)(/takes the path of a file.*memoryInbox/);
    }
    for (const file of ["file:x.db", "file:///x.db", "file::memory:", new URL("file:///x.db")]) {
      refused(file)(/takes the path of a file, .* not a URL \(file:\): .*fileURLToPath/);
    }
    for (const url of [
      "sqlite:x",
      "libsql://hidden@h",
      "sqlite3:///x.db",
      "https://h/x?token=hidden",
    ]) {
      refused(url)(/takes the path of a file, .* not a URL \(\w+:\): it opens no server$/);
    }
    for (const unset of [
      "undefined",
      "null",
      "./undefined",
      "undefined/inbox.db",
      "data\\null",
      "undefined.db",
      "data/null.sqlite3",
    ]) {
      refused(unset)(/takes the path of a file, .*"(undefined|null)" in it: check the variable/);
    }
    for (const variable of ["$INBOX_DB", `$${"{INBOX_DB}"}`, "%INBOX_DB%"]) {
      refused(variable)(/takes the path of a file, .*INBOX_DB.*" in it: check the variable/);
    }
    refused("inbox.db?mode=ro&token=hidden")(
      /and this one has "\?mode=" in it: check the variable/,
    );
    refused("inbox.db\n")(/white space at an end/);
    for (const path of [
      "C:\\x.db",
      "c:/x.db",
      "./a:b.db",
      "fix-undefined/null.d/undefined-1.db",
      "a%20b%20c.db",
    ]) {
      expect(() => sqliteInbox(path)).not.toThrow();
    }
    refused("a.db", { wal: true })(/wal is no option; these are: driver, retention, migrate/);
    refused("a.db", { migrate: 1 })(/migrate must be true or false/);
    refused("a.db", { retention: { handledMs: 0 } })(
      /retention.handledMs must be a positive number/,
    );
    refused("a.db", { retention: { days: 7 } })(
      /retention.days is no option; these are: handledMs/,
    );
    refused("a.db", { driver: "no-such-driver" })(/"no-such-driver" is found from none of /);
  });

  it("sqliteInbox() makes no file with migrate: false, and says what to do", async () => {
    const path = temporaryPath();
    const inbox = sqliteInbox(path, { migrate: false });
    await expect(inbox.open()).rejects.toMatchObject({ code: "inbox_failed" });
    expect(existsSync(path)).toBe(false);
    expect((await inbox.health()).ok).toBe(false);
    await inbox.close();
  });

  it("sqliteInbox() says what to do about a file that can't be looked at", async () => {
    const path = temporaryPath();
    symlinkSync(path, path);
    const inbox = sqliteInbox(path);
    await expect(inbox.open()).rejects.toMatchObject({
      code: "inbox_failed",
      message: expect.stringMatching(/give the app the right to, and run commands as its user/),
    });
    await inbox.close();
  });

  it("sqliteInbox() names the file that it can't make beside a log that can't be read", async () => {
    const path = temporaryPath();
    mkdirSync(`${path}-wal`);
    const failed = { code: "inbox_failed", message: expect.stringContaining(path) };
    await expect(sqliteInbox(path).open()).rejects.toMatchObject(failed);
  });

  it("open() tries again at once after a failure", async () => {
    const missing = join(folder, `missing-${++files}`);
    const inbox = sqliteInbox(join(missing, "inbox.db"));
    await expect(inbox.open()).rejects.toThrow("is not there");
    mkdirSync(missing);
    await inbox.open();
    await inbox.close();
  });

  it("sqliteInbox() makes a file that only its owner can read", async () => {
    const path = temporaryPath();
    const inbox = sqliteInbox(path);
    await inbox.open();
    for (const suffix of ["", "-wal"]) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    await inbox.close();
  });

  it("two inboxes on one file see each other's deliveries, and store a copy once", async (context) => {
    const [left, right] = pair(context);
    const { inbox: one } = left;
    const parts = { signature: "s", body: "{}" };
    const id = await left.put(parts);
    await right.inbox.open();
    expect(await right.add(await right.make(parts))).toEqual({ status: "duplicate", id });
    const second = await right.put({ signature: "s", body: "[]" });
    expect(await left.add(await left.make({ signature: "s", body: "[]" }))).toEqual({
      status: "duplicate",
      id: second,
    });
    await left.until(async () => (await one.counts()).received === 2, "it counts the other's");
    await left.work("verify", valid, valid);
    await right.work("handle", handled, handled);
    await left.until(async () => (await one.counts()).handled === 2, "it counts what became of it");
  });

  it("sqliteInbox() gives no number twice, so that no copy is taken for a delivery that is gone", async (context) => {
    const [left, right] = pair(context);
    const held = { signature: null, arrival: arrivals["held"] as Arrival };
    for (let count = 0; count < 3; count++) {
      await right.act("discard", await left.put(held));
    }
    const parts = { signature: "s", body: "{}" };
    const id = await left.put(parts);
    const again = fixture(sqliteInbox(pathOf(left.inbox)), context);
    for (const { add, make, end } of [left, right, again]) {
      expect(await add(await make(parts))).toEqual({ status: "duplicate", id });
      await end();
    }
  });

  it("a release on one file is noticed by another inbox that works on it", async (context) => {
    const [working, looking] = pair(context);
    const { inbox: tool } = looking;
    const id = await working.put();
    await working.work("verify", valid);
    await working.work("handle", endedAs("held", "no_handler"));
    const { jobs } = working.consume("handle", handled);
    await looking.until(async () => (await tool.get(id))?.state === "held", "it is held");
    expect(await looking.act("release", id)).toBe(1);
    await working.until(() => jobs.length === 1, "it is handed out");
    await working.until(async () => (await tool.get(id))?.state === "handled", "it is handled");
  });

  it("many workers on one file do each delivery once", async (context) => {
    const [first, second] = pair(context);
    const benches = [first, second, fixture(sqliteInbox(pathOf(first.inbox)), context)];
    const total = 300;
    const adding = benches.flatMap(({ put }, which) =>
      Array.from({ length: total / 3 }, (_, index) => put({ signature: `${which} ${index}` })),
    );
    const consumed: Consuming[] = [];
    for (const { consume } of benches) {
      consume("verify", valid, { concurrency: 5 });
      const handling = consume("handle", handled, { concurrency: 5 });
      consumed.push(handling);
    }
    const ids = await Promise.all(adding);
    const all = async () => (await first.inbox.counts()).handled === total;
    await first.until(all, "all is handled");
    const seen = consumed.flatMap(({ jobs }) => jobs.map(({ id }) => id));
    expect(seen.sort()).toEqual(ids.sort());
  });

  it("a release of all for a reason runs each once, although they are parked again meanwhile", async (context) => {
    const { inbox, act, put, consume } = fixture(open(), context);
    const count = 1_200;
    const unsigned = { signature: null, arrival: arrivals["held"] as Arrival };
    await Promise.all(Array.from({ length: count }, () => put(unsigned)));
    const { jobs } = consume("handle", endedAs("held", "unsigned"), { concurrency: 16 });
    expect(await act("release", { reason: "unsigned" })).toBe(count);
    await vi.waitUntil(async () => (await inbox.counts()).held === count, patienceMs);
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(jobs.length);
  });

  it("a release in the turn in which a delivery is stored finds it, and hands it out as it is then", async (context) => {
    const { inbox, act, make, consume, until } = fixture(open(), context);
    const { jobs } = consume("handle", handled);
    const adding = inbox.add(await make({ signature: null }), arrivals["held"] as Arrival);
    const releasing = act("release", { reason: "unsigned" });
    const [added, released] = await Promise.all([adding, releasing]);
    expect(released).toBe(1);
    await until(() => jobs.length === 1, "it is handed out");
    expect(jobs).toMatchObject([{ id: added.id, released: true }]);
  });

  it("facts() tells the oldest that waits by lived time, although a verified one shows an earlier date", async (context) => {
    const { inbox, clock, add, make, put } = fixture(open(), context);
    const at = clock.now() - 20_000;
    await put({ at });
    const earlier = { ...(await make({ at: at - 60_000 })), arrivedAt: at + 10_000 };
    const arrival = {
      to: "verified",
      verification: "settled",
      type: null,
      reportId: null,
    } as const;
    await add(earlier, { arrival });
    expect(await inbox.facts("a")).toMatchObject({ oldestUnverified: at, oldestWaiting: at });
  });

  it("an act finds what list() finds of a report whose id SQLite can't hold as it is", async (context) => {
    const { inbox, act, put, work } = fixture(open(), context);
    const reportId = "r\0\ud800";
    await put();
    await work("verify", { ...valid, reportId });
    await work("handle", endedAs("dead", "do_not_retry", { reportId }));
    expect(await inbox.list({ reportId })).toMatchObject([{ reportId: "r\ufffd\ufffd" }]);
    expect(await act("discard", { reportId: "r" })).toBe(0);
    expect(await act("discard", { reportId }, { dryRun: true })).toBe(1);
    expect(await act("discard", { reportId })).toBe(1);
  });

  it("add() stores all deliveries of one turn but the one that fails", async (context) => {
    const { inbox, path, add, make } = await opened(context);
    const deliveries = await Promise.all([make(), make(), make()]);
    change(
      path,
      `CREATE TRIGGER bad BEFORE INSERT ON delivery WHEN new.id = '${deliveries[1]?.id}'
       BEGIN SELECT raise(ABORT, 'no such luck'); END`,
    );
    expect(await Promise.allSettled(deliveries.map((delivery) => add(delivery)))).toMatchObject([
      { status: "fulfilled" },
      { reason: { code: "inbox_failed", message: expect.stringContaining("no such luck") } },
      { status: "fulfilled" },
    ]);
    expect((await inbox.counts()).received).toBe(2);
  });

  it("a failing transaction undoes its counts, hand-outs and memory", async (context) => {
    const { inbox, path, put, consume, until } = await opened(context);
    const ids = [await put()];
    change(
      path,
      "CREATE TRIGGER full BEFORE INSERT ON owner WHEN new.number > 0 BEGIN SELECT raise(ABORT, 'full'); END",
    );
    const { jobs, errors } = consume("verify", valid);
    ids.push(await put());
    await until(() => errors.length > 0, "it fails to hand out");
    expect(errors).toMatchObject([{ message: expect.stringContaining("full") }]);
    expect((await inbox.counts()).received).toBe(2);
    expect(jobs).toEqual([]);
    change(path, "DROP TRIGGER full");
    await until(async () => (await inbox.counts()).verified === 2, "it goes on");
    expect(jobs.map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  it.for<[string, (own: string) => void]>([
    ["is gone", () => {}],
    ["has a file in its place", (own: string) => writeFileSync(own, "")],
    ["is a link to itself", (own: string) => symlinkSync(own, own)],
  ])("add() stores nothing that it refuses, when its folder %s", async ([, replace], context) => {
    const own = mkdtempSync(join(folder, "own-"));
    const path = join(own, "inbox.db");
    const before = sqliteInbox(path);
    await before.open();
    await before.close();
    // Its log is empty.
    const { inbox, put } = fixture(sqliteInbox(path), context);
    const ids = [await put()];
    renameSync(own, `${own}-away`);
    replace(own);
    for (let count = 0; count < 2; count++) {
      await expect(put()).rejects.toMatchObject({ code: "inbox_failed" });
    }
    rmSync(own, { force: true });
    renameSync(`${own}-away`, own);
    ids.push(await put());
    expect((await inbox.list()).map(({ id }) => id)).toEqual(ids);
  });

  it("a link leads to the file, which is no other inbox", async (context) => {
    const target = temporaryPath();
    const [link, chain] = [join(folder, "link.db"), join(folder, "chain.db")];
    symlinkSync(target, link);
    symlinkSync("link.db", chain);
    const inboxes = [sqliteInbox(chain), sqliteInbox(target)];
    expect(new Set(inboxes.map(({ identity }) => identity)).size).toBe(1);
    const [one, other] = inboxes.map((inbox) => fixture(inbox, context)) as [
      InboxFixture,
      InboxFixture,
    ];
    const id = await one.put();
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect((await other.inbox.get(id))?.id).toBe(id);
  });

  it("a closed inbox works on nothing, although it could not be opened then", async (context) => {
    const late = join(folder, "late");
    const path = join(late, "inbox.db");
    const closed = fixture(sqliteInbox(path), context);
    await expect(closed.inbox.open()).rejects.toThrow(/is not there: create it/);
    const { jobs, errors } = closed.consume("verify", valid);
    await closed.until(() => errors.length > 0, "it fails");
    await closed.inbox.close();
    mkdirSync(late);
    const { inbox, put } = fixture(sqliteInbox(path), context);
    await put();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await inbox.counts()).received).toBe(1);
    expect(jobs).toEqual([]);
  });

  it("abort() does not wait for a locked file, and gives the lease back once it can", async (context) => {
    const path = temporaryPath();
    const { inbox, put, consume, until } = fixture(sqliteInbox(path), context);
    const id = await put();
    const first = consume("verify", () => new Promise(() => {}));
    await until(() => first.jobs.length === 1, "it runs");
    const other = loadDriver().open(path);
    other.exec("PRAGMA busy_timeout = 3000; BEGIN IMMEDIATE");
    await first.consumer.abort();
    expect(first.consumer.running).toBe(0);
    other.exec("COMMIT");
    other.close();
    const second = consume("verify", valid);
    await until(() => second.jobs.length === 1, "it is handed out again");
    expect(second.jobs[0]?.id).toBe(id);
    await until(async () => (await inbox.counts()).verified === 1, "it is recorded");
  });

  it("abort() opens no file again for a result that nobody waits for", async (context) => {
    const path = temporaryPath();
    const { inbox, put, consume, until } = fixture(sqliteInbox(path), context);
    await put();
    const { consumer, jobs } = consume("verify", () => new Promise(() => {}));
    await until(() => jobs.length === 1, "it runs");
    const other = loadDriver().open(path);
    other.exec("PRAGMA busy_timeout = 3000; BEGIN IMMEDIATE");
    await consumer.abort();
    other.exec("COMMIT");
    other.close();
    await inbox.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
    // A second after the failure it would be sent again.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(existsSync(path)).toBe(false);
  });

  it("close() of a file that could not be opened resolves: it has no leases to give back", async () => {
    const inbox = sqliteInbox(join(folder, "not-there", "inbox.db"));
    const opening = inbox.open();
    await expect(inbox.close()).resolves.toBeUndefined();
    await expect(opening).rejects.toThrow(/is not there: create it/);
  });

  it("consume() works on the stage of one receiver, and says what it parks as poison for another", async (context) => {
    const path = temporaryPath();
    const { inbox, clock, put, until } = fixture(sqliteInbox(path), context);
    const id = await put();
    change(
      path,
      `BEGIN IMMEDIATE; INSERT INTO owner (number, beat) VALUES (7, 0);
       UPDATE delivery SET queue = 5, rank = 7, starts = 5; COMMIT`,
    );
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const policy = { receiver: "b", concurrency: 1, clock, onError };
    inbox.consume("verify", async () => valid, policy);
    await until(() => errors.length > 0, "it is told");
    expect(String(errors[0])).toContain(`Delivery ${id} of a is dead: poison`);
    expect(await inbox.get(id)).toMatchObject({ state: "dead" });
  });

  it("consume() works on the next delivery, although the hook that is told of a result throws", async (context) => {
    const { inbox, clock, put, until } = fixture(open(), context);
    const unhandled = vi.fn();
    process.once("unhandledRejection", unhandled);
    const told: string[] = [];
    const policy = { receiver: "a", concurrency: 1, clock, onError: () => {} };
    const onRecorded = ({ id }: { id: string }): void => {
      told.push(id);
      if (told.length === 1) throw new Error("an observer fails");
    };
    const consumer = inbox.consume("verify", async () => valid, { ...policy, onRecorded });
    const ids = [await put(), await put()];
    await until(() => told.length === 2, "both are told");
    expect(told).toEqual(ids);
    await consumer.stop();
    expect(consumer.running).toBe(0);
    expect(unhandled).toHaveBeenCalledOnce();
  });

  it("backlog() has nothing that has ended, when the hook is told of a result", async (context) => {
    const { inbox, clock, put, until } = fixture(open(), context);
    const waiting: number[] = [];
    const policy = { receiver: "a", concurrency: 1, clock, onError: () => {} };
    const onRecorded = (): void => void waiting.push(inbox.backlog("a").waiting);
    const rejected = endedAs("rejected", "invalid_signature");
    const consumer = inbox.consume("verify", async () => rejected, { ...policy, onRecorded });
    await put();
    await until(() => waiting.length === 1, "it is told");
    expect(waiting).toEqual([0]);
    await consumer.stop();
  });

  it("consume() works on what it leases in the turn in which it learns that its leases are lost", async (context) => {
    const path = temporaryPath();
    const opened = fixture(sqliteInbox(path), context);
    const { inbox, put, until } = opened;
    const { goOn } = await hanging(opened);
    const other = loadDriver().open(path);
    other.exec("PRAGMA busy_timeout = 3000; BEGIN IMMEDIATE");
    const adding = Promise.all(Array.from({ length: 5 }, () => put()));
    await new Promise((resolve) => setTimeout(resolve, heartbeatMs));
    other.exec("UPDATE delivery SET queue = 1, rank = arrived_at WHERE queue = 5");
    other.exec("DELETE FROM owner; COMMIT");
    other.close();
    await adding;
    goOn();
    await until(async () => (await inbox.counts()).verified === 106, "nothing is left");
  });

  it("consume() leaves deliveries that it leased ahead to others, once its work takes long", async (context) => {
    const [left, right] = pair(context);
    const { inbox: one } = left;
    const { jobs, goOn } = await hanging(left);
    await Promise.all(Array.from({ length: 99 }, () => left.put()));
    right.consume("verify", valid);
    await left.until(async () => (await one.counts()).verified === 199, "others do the rest");
    expect(jobs).toHaveLength(101);
    goOn();
    await left.until(async () => (await one.counts()).verified === 200, "nothing is left");
  });

  it("consume() does not lease deliveries again that it gave back while its work hangs", async (context) => {
    const [left, right] = pair(context);
    const { inbox: one } = left;
    const { goOn } = await hanging(left);
    const idle = right.consume("verify", valid);
    const id = await left.put();
    await left.until(() => idle.jobs.length === 1, "the idle one has the next");
    expect(idle.jobs[0]?.id).toBe(id);
    goOn();
    await left.until(async () => (await one.counts()).verified === 102, "nothing is left");
  });

  it("consume() hands out as many at a time as a concurrency that rises and falls allows", async (context) => {
    const { inbox, clock, put, until } = fixture(open(), context);
    for (let count = 0; count < 9; count++) await put();
    const running: (() => void)[] = [];
    let concurrency = 1;
    inbox.consume("verify", () => new Promise((done) => running.push(() => done(valid))), {
      receiver: "a",
      clock,
      onError: () => {},
      get concurrency() {
        return concurrency;
      },
    });
    await until(() => running.length === 1, "the first one runs");
    // The handle stage has more once deliveries that were handled right after their verdict have ended.
    concurrency = 4;
    running.shift()?.();
    await until(() => running.length === 4, "four run");
    concurrency = 2;
    for (const done of running.splice(0, 3)) done();
    const verified = async () => (await inbox.counts()).verified;
    await until(async () => (await verified()) === 4, "they are recorded");
    await until(() => running.length === 2, "two run");
    for (let left = 5; left > 0; left--) {
      expect(running.length).toBeLessThanOrEqual(2);
      running.shift()?.();
      await until(async () => (await verified()) === 9 - left + 1, "it is recorded");
      await until(() => running.length === Math.min(2, left - 1), "the next one runs");
    }
  });

  it("consume() hands out all there is without a limit", async (context) => {
    const { inbox, clock, put, until } = fixture(open(), context);
    const opened = deferred();
    const putMany = () => Promise.all(Array.from({ length: 300 }, () => put()));
    await putMany();
    const policy = { receiver: "a", concurrency: Infinity, clock, onError: () => {} };
    const work = async () => {
      await opened.promise;
      return valid;
    };
    const consumer = inbox.consume("verify", work, policy);
    await putMany();
    await until(() => consumer.running === 600, "all run");
    opened.resolve();
    await put();
    await until(async () => (await inbox.counts()).verified === 601, "all are done");
  });

  it("the worker on the stage that ended the process is told the deliveries parked as poison", async (context) => {
    const path = temporaryPath();
    const { inbox, clock, put, work, until } = fixture(sqliteInbox(path), context);
    const id = await put();
    await work("verify", valid);
    // At once: the inbox looks at what others have committed.
    change(
      path,
      `BEGIN IMMEDIATE; INSERT INTO owner (number, beat) VALUES (7, 0);
       UPDATE delivery SET queue = 6, rank = 7, starts = 5, attempts = 2; COMMIT`,
    );
    const told: unknown[] = [];
    const policy = { receiver: "a", concurrency: 1, clock, onError: () => {} };
    for (const stage of ["verify", "handle"] as const) {
      inbox.consume(stage, async () => handled, {
        ...policy,
        onRecorded: (job, { to }) => told.push([stage, job.stage, job.attempts, to]),
      });
    }
    await until(() => told.length > 0, "it is told");
    expect(told).toEqual([["handle", "handle", 2, "dead"]]);
    expect(await inbox.get(id)).toMatchObject({ state: "dead", attempts: 3 });
  });

  it("a stopped consumer is collected as garbage, while others work on", async (context) => {
    const { gc: collect } = globalThis;
    if (collect === undefined) throw new Error("Node has to be started with --expose-gc");
    const { inbox, clock, put, consume, until } = fixture(open(), context);
    const { jobs } = consume("handle", handled);
    const work = await (async () => {
      const verify = async () => valid;
      const policy = { receiver: "a", concurrency: 1, clock, onError: () => {} };
      const consumer = inbox.consume("verify", verify, policy);
      await put();
      await until(() => jobs.length === 1, "it works");
      await consumer.stop();
      return new WeakRef(verify);
    })();
    await until(async () => {
      await inbox.counts();
      void collect();
      return work.deref() === undefined;
    }, "it to be forgotten");
  });

  it("an inbox refuses a question that can't be asked of its thread, and keeps nothing else from it", async (context) => {
    const { inbox, put } = fixture(open(), context);
    await inbox.open();
    const from = { getTime: () => 0 } as Date;
    const [refused, ...ids] = await Promise.allSettled([inbox.list({ from }), put(), put()]);
    expect(refused).toMatchObject({ status: "rejected", reason: { name: "DataCloneError" } });
    for (const id of ids) {
      expect(id.status).toBe("fulfilled");
      expect(await inbox.get((id as { value: string }).value)).toMatchObject({ state: "received" });
    }
  });

  it("an inbox takes no answer for another's when something can't be sent, and goes on", async (context) => {
    const { inbox, make, add, put, consume, until } = fixture(open(), context);
    const { consumer, errors } = consume("verify", valid);
    const first = await put();
    await until(async () => (await inbox.counts()).verified === 1, "the first one is done");
    const body = new Uint8Array(10);
    const deliveries = await Promise.all([make({ body }), make(), make()]);
    const adding = deliveries.map((delivery) => add(delivery));
    structuredClone(body.buffer, { transfer: [body.buffer] });
    const added = await Promise.allSettled(adding);
    expect(added.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    expect(added[0]).toMatchObject({
      reason: { code: "inbox_failed", message: expect.stringContaining("could not be sent") },
    });
    expect(errors).toMatchObject([{ code: "inbox_failed" }]);
    await until(async () => (await inbox.health()).ok, "it goes on");
    for (const { id } of deliveries) expect(await inbox.get(id)).toBeNull();
    const last = await put();
    await until(async () => (await inbox.counts()).verified === 2, "the last one is done");
    expect((await inbox.list()).map(({ id }) => id)).toEqual([first, last]);
    await consumer.stop();
  });

  it("an inbox answers and closes when something can't be sent, although nothing else keeps the process alive", async () => {
    const path = JSON.stringify(temporaryPath());
    const program = `
      import { sqliteInbox } from "@reporthook/sqlite";
      const inbox = sqliteInbox(${path});
      await inbox.open();
      const body = new Uint8Array(10);
      const delivery = { id: "1", receiver: "a", receivedAt: 0, arrivedAt: 0, key: null, signature: "s", url: "/", context: null, headers: {}, requestId: null, body };
      const added = inbox.add(delivery, { to: "received" });
      structuredClone(body.buffer, { transfer: [body.buffer] });
      await added.catch(({ code }) => console.log(code));
      await inbox.close();
      console.log("closed");`;
    const { ended } = startScript(program, { cwd: import.meta.dirname });
    expect(await ended).toMatchObject({ code: 0, stdout: "inbox_failed\nclosed\n" });
  });

  it("a handled delivery has no signature, one that may still be verified has it", async (context) => {
    const { inbox, put, work, end } = fixture(open(), context);
    await put({ url: "/hook?handled" });
    await work("verify", valid);
    await work("handle", handled);
    await put({ url: "/hook?held" });
    await work("verify", endedAs("held", "not_verified"));
    await end();
    const file = loadDriver().open(pathOf(inbox));
    const rows = file.prepare("SELECT url, signature FROM delivery ORDER BY seq").all();
    file.close();
    expect(rows).toEqual([
      { url: "/hook?handled", signature: null },
      { url: "/hook?held", signature: "signature 2" },
    ]);
  });

  it("sqliteInbox() keeps the app's retention in the file: a tool prunes by it, not by its own", async (context) => {
    const path = temporaryPath();
    const app = fixture(sqliteInbox(path, { retention: { parkedMs: 90 * dayMs } }), context);
    await app.put();
    await app.work("verify", valid);
    await app.work("handle", endedAs("dead", "do_not_retry"));
    await app.end();
    const tool = sqliteInbox(path, { migrate: false, retention: { parkedMs: 1 } });
    const after = (days: number): Date => new Date(app.clock.now() + days * dayMs);
    expect(await tool.prune(after(86))).toMatchObject({ announced: {}, noticeMs: 3 * dayMs });
    expect(await tool.prune(after(88))).toMatchObject({ announced: { do_not_retry: 1 } });
    await tool.close();
    const again = sqliteInbox(path, { retention: { parkedMs: 100 * dayMs } });
    expect((await again.prune(after(99))).deleted).toEqual({});
    expect((await again.prune(after(101))).parked).toEqual({ do_not_retry: 1 });
    await again.close();
  });

  it("sqliteInbox() keeps to the default retention in a file for which no app has said otherwise", async (context) => {
    const { inbox, clock, put, work, end } = fixture(open(), context);
    await put();
    await work("verify", valid);
    await work("handle", handled);
    await end();
    const file = loadDriver().open(pathOf(inbox));
    file.exec("DELETE FROM retention");
    file.close();
    const tool = sqliteInbox(pathOf(inbox), { migrate: false });
    const now = clock.now();
    expect((await tool.prune(new Date(now + 6.9 * dayMs))).deleted).toEqual({});
    expect((await tool.prune(new Date(now + 7.1 * dayMs))).deleted).toEqual({ handled: 1 });
    await tool.close();
  });

  it("prune() keeps of a handled delivery only its key when its retention is over within 24 hours", async (context) => {
    const [path, hourMs] = [temporaryPath(), dayMs / 24];
    const inbox = sqliteInbox(path, { retention: { handledMs: hourMs } });
    const { clock, make, add, put, work } = fixture(inbox, context);
    const parts = { url: "/hook?private", signature: "private signature", body: '{"private":1}' };
    const id = await put(parts);
    await work("verify", valid);
    await work("handle", handled);
    const again = async () => add(await make(parts));
    const prune = async () => (await inbox.prune(new Date(clock.now()))).deleted;
    clock.advance(hourMs + 1);
    expect(await prune()).toEqual({ handled: 1 });
    expect(await prune()).toEqual({});
    expect([await inbox.list(), await inbox.get(id), (await inbox.counts()).handled]).toEqual([
      [],
      null,
      0,
    ]);
    expect(await again()).toEqual({ status: "duplicate", id });
    const file = loadDriver().open(path);
    const rows = () => file.prepare("SELECT * FROM delivery").all();
    expect(rows()).toHaveLength(1);
    expect(Object.values(rows()[0] ?? {}).join()).not.toMatch(/private|report/);
    clock.advance(23 * hourMs);
    expect(await prune()).toEqual({});
    expect(rows()).toEqual([]);
    file.close();
    expect((await again()).status).toBe("added");
  });

  it("sqliteInbox() takes a retention without an end", async (context) => {
    const retention = { handledMs: Number.POSITIVE_INFINITY, parkedMs: Number.POSITIVE_INFINITY };
    const { inbox, clock, put, work } = fixture(
      sqliteInbox(temporaryPath(), { retention }),
      context,
    );
    await put();
    await put();
    await work("verify", valid, valid);
    await work("handle", handled, endedAs("dead", "do_not_retry"));
    const later = new Date(clock.now() + 1e6 * dayMs);
    for (const dryRun of [true, false]) {
      const { deleted, announced } = await inbox.prune(later, { dryRun });
      expect({ deleted, announced }).toEqual({ deleted: {}, announced: {} });
    }
  });

  it("counts() agrees with the file after any sequence of acts", async () => {
    const outcomes: readonly Outcome[] = [
      valid,
      handled,
      later(0),
      later(0, { lastTurnAt: 0 }),
      later(60_000),
      endedAs("held", "expired", { verification: "expired" }),
      endedAs("dead", "do_not_retry"),
      endedAs("rejected", "invalid_signature"),
      endedAs("held", "not_verified"),
    ];
    const step = fc.oneof(
      fc.record({ add: fc.constantFrom("signed", "unsigned", "held") }),
      fc.record({ work: fc.constantFrom("verify", "handle"), to: fc.constantFrom(...outcomes) }),
      fc.record({ touch: fc.constantFrom("release", "discard", "prune"), which: fc.nat(30) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async (steps) => {
        const { inbox, act, clock, put, work, end } = createInboxFixture(open(), patienceMs);
        const ids: string[] = [];
        for (const one of steps) {
          if ("add" in one) {
            const arrival: Arrival | undefined = arrivals[one.add];
            ids.push(await put({ ...(arrival && { arrival, signature: null }) }));
          } else if ("work" in one) {
            const state = one.work === "verify" ? "received" : "verified";
            const due = (await inbox.list({ state })).some(
              ({ nextAttemptAt }) => Number(nextAttemptAt) <= clock.now(),
            );
            const fits = one.work === "verify" || !("verification" in one.to);
            if (due && fits) await work(one.work as Stage, one.to);
          } else if (one.touch === "prune") {
            clock.advance(dayMs * (one.which / 2));
            await inbox.prune(new Date(clock.now()));
          } else {
            const id = ids[one.which % Math.max(1, ids.length)] ?? "none";
            await act(one.touch as "release" | "discard", id).catch(() => {});
          }
        }
        const entries = await inbox.list({ limit: 1_000 });
        const counts = Object.fromEntries(
          states.map((state) => [state, entries.filter((entry) => entry.state === state).length]),
        );
        expect(await inbox.counts()).toEqual(counts);
        const details = await Promise.all(entries.map(({ id }) => inbox.get(id)));
        const isReleased = (one: EntryDetails) =>
          one.history.some((item) => "act" in item && item.act === "release");
        const waiting = details.filter(
          (one) => one?.state === "verified" && one.verification === "unsigned" && !isReleased(one),
        );
        const held = details.filter((one) => one?.reason?.code === "unsigned");
        expect(inbox.backlog("a")).toMatchObject({
          waiting: (counts["received"] ?? 0) + (counts["verified"] ?? 0),
          unsignedWaiting: waiting.length,
          unsignedHeld: held.length,
        });
        expect(numbersOfOtherTypes(pathOf(inbox))).toEqual([]);
        await end();
      }),
      { numRuns: 15 },
    );
  });
});

const arrivals: Record<string, Arrival | undefined> = {
  unsigned: { to: "verified", verification: "unsigned", type: null, reportId: null },
  held: {
    to: "held",
    verification: "unsigned",
    reason: { code: "unsigned", message: "It came without a signature." },
  },
};
