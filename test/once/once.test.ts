import {
  createClient,
  createReceiver,
  memoryInbox,
  once,
  oncePrune,
  onceTable,
} from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { loadDriver } from "@reporthook/sqlite/internals";
import { evidence } from "@reporthook/test-support/evidence";
import { testWith } from "@reporthook/test-support/needs";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { close, connect, inScene, missing, open, stores } from "./scene.ts";
import { steps } from "./shop-process.ts";

// The long run is `pnpm test:crash`.
const kills = Number(process.env["CRASH_KILLS"] ?? 1);
const ofStore = Math.ceil(kills / stores.length / steps.length) * steps.length;

beforeAll(open);
afterAll(close);
afterEach(() => {
  vi.useRealTimers();
});

describe.concurrent.each(stores)("on $name", (store) => {
  const storeTest = testWith(store.missing);
  const label = store.name.replaceAll(/\W+/g, "-");

  const killed = `a booking is made once when its app is killed at any step, ${ofStore} times`;
  storeTest(killed, () =>
    inScene(store, async ({ start, counts }) => {
      let shop = start();
      for (let nth = 0; nth < ofStore; nth++) {
        const step = steps[nth % steps.length] ?? "begun";
        const event = `${label}:${step}.${nth}`;
        expect(await shop.ask({ event, holdAt: step })).toEqual({ at: step });
        await shop.kill();
        shop = start();
        const booked = await shop.book(event);
        if (step !== "committing") expect([event, booked]).toEqual([event, step !== "committed"]);
        expect([event, await shop.book(event)]).toEqual([event, false]);
        const [made, recorded] = await counts(event);
        evidence("once", { kills: 1 }, { "missing or doubled effects": Math.abs(made - 1) });
        expect([event, made, recorded]).toEqual([event, 1, 1]);
      }
    }),
  );

  storeTest("a booking waits for another process, and is made when that is killed", () =>
    inScene(store, async ({ start, counts, isWaiting }) => {
      const [first, second] = [start(), start()];
      const event = `waits:${label}`;
      await first.ask({ event, holdAt: "booked" });
      const booked = second.book(event);
      await isWaiting(event);
      await first.kill();
      expect(await booked).toBe(true);
      expect(await counts(event)).toEqual([1, 1]);
    }),
  );

  storeTest("a booking waits for another process, and is left out when that commits", () =>
    inScene(store, async ({ start, counts, isWaiting }) => {
      const [first, second] = [start(), start()];
      const event = `left-out:${label}`;
      await first.ask({ event, holdAt: "booked" });
      const told = second.ask({ event });
      await isWaiting(event);
      expect(await first.goOn()).toEqual({ booked: true });
      // A transaction with a snapshot has to be tried again.
      const isStrict = /REPEATABLE|SERIALIZABLE/.test(store.begin);
      expect(await told).toEqual(isStrict ? { failed: "40001" } : { booked: false });
      expect(await second.book(event)).toBe(false);
      expect(await counts(event)).toEqual([1, 1]);
    }),
  );

  storeTest("two processes that are given the same events book each once", () =>
    inScene(store, async ({ start, counts }) => {
      const shops = [start(), start()];
      const events = Array.from({ length: 20 }, (_, nth) => `${label}:${nth}`);
      const made = await Promise.all(
        shops.map(async (shop) => {
          const booked: boolean[] = [];
          for (const event of events) booked.push(await shop.book(event));
          return booked;
        }),
      );
      expect(made.flat().filter(Boolean)).toHaveLength(events.length);
      for (const event of events) expect(await counts(event)).toEqual([1, 1]);
    }),
  );
});

describe("the table", () => {
  const inMemory = () => {
    const db = loadDriver("libsql").open(":memory:");
    return (sql: string) => db.prepare(sql).all();
  };

  /** Records at two moments, an hour apart, and prunes between them; resolves to what is left. */
  async function pruned(run: (sql: string) => unknown): Promise<unknown> {
    for (let time = 0; time < 2; time++) await run(onceTable);
    const first = Date.parse("2026-03-29T01:30:00+01:00");
    vi.useFakeTimers({ toFake: ["Date"], now: first });
    const record = (event: string) => once(run as () => [], event, "prune");
    expect(await record("early")).toBe(true);
    vi.setSystemTime(first + 3_600_000);
    expect(await record("late")).toBe(true);
    await run(oncePrune(new Date(first)));
    expect(await record("early")).toBe(false);
    await run(oncePrune(new Date(first + 1)));
    const left = "SELECT event FROM reporthook_once WHERE effect = 'prune'";
    const rows = await run(left);
    await run(oncePrune(new Date(first + 3_600_001)));
    return [rows, await run(left)];
  }

  test("oncePrune() deletes what is older, to the millisecond, on SQLite", async () => {
    expect(await pruned(inMemory())).toEqual([[{ event: "late" }], []]);
  });

  for (const zone of ["Pacific/Kiritimati", "America/St_Johns", "Europe/Berlin"]) {
    const name = `oncePrune() deletes what is older, to the millisecond, in a session in ${zone}`;
    testWith(missing)(name, async () => {
      const session = await connect();
      try {
        await session.query(`SET TIME ZONE '${zone}'; SET DateStyle = 'German'`);
        const run = async (sql: string) => (await session.query(sql)).rows;
        expect(await pruned(run)).toEqual([[{ event: "late" }], []]);
      } finally {
        await session.end();
      }
    });
  }

  test("once() takes the longest texts and every character on SQLite, and tells them apart", async () => {
    expect(await toldApart(inMemory())).toEqual([]);
  });

  testWith(missing)(
    "once() takes the longest texts and every character on PostgreSQL, and tells them apart",
    async () => {
      const session = await connect();
      expect(await toldApart((sql) => session.query(sql))).toEqual([]);
      await session.end();
    },
  );

  /** Records texts that a database might cut, fold or take for one another; resolves to those that it did. */
  async function toldApart(run: (sql: string) => unknown): Promise<string[]> {
    await run(onceTable);
    const all = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
    const long = "x".repeat(99);
    const texts = [all, all.toLowerCase(), `${long}1`, `${long}2`, "1", "01", "1.0", "--", "null"];
    const wrong: string[] = [];
    for (const text of texts) {
      for (const effect of ["a", "A", all.slice(0, 64)]) {
        const told = [await once(run as () => [], text, effect)];
        told.push(await once(run as () => [], text, effect));
        if (told.join() !== "true,false") wrong.push(`${text} ${effect}: ${told}`);
      }
    }
    return wrong;
  }
});

describe("receivers", () => {
  test("two receivers with one table have their effects each: the id of an event is unique", async () => {
    const db = loadDriver("libsql").open(":memory:");
    for (const sql of [onceTable, "CREATE TABLE bookings (receiver, event)"]) db.exec(sql);
    const emulator = createEmulator();
    const sent = emulator.notification("report.complete", { reportId: "r-1" });
    for (const name of ["shop", "archive"]) {
      const client = createClient(emulator.clientOptions);
      const receiver = createReceiver({ name, client, inbox: memoryInbox() });
      receiver.on("report.complete", async (event) => {
        if (!(await once((sql) => db.prepare(sql).all(), event, "book"))) return;
        db.prepare("INSERT INTO bookings VALUES (?, ?)").run(name, event.id);
      });
      await receiver.fetch(new Request("http://app.test/", sent));
      await receiver.idle();
      const [{ id } = { id: "" }] = await receiver.inbox.list();
      await receiver.inbox.release(id);
      await receiver.idle();
      await receiver.close();
    }
    const bookings = db.prepare("SELECT receiver FROM bookings").all();
    expect(bookings).toEqual([{ receiver: "shop" }, { receiver: "archive" }]);
  });

  testWith(missing)(
    "a receiver tries an event again whose transaction could not be serialized, and it is booked once",
    async () => {
      const [mine, other] = [await connect(), await connect()];
      const emulator = createEmulator();
      const { clock } = emulator;
      const receiver = createReceiver({
        client: createClient(emulator.clientOptions),
        inbox: memoryInbox(),
        clock,
        logger: { warn() {}, error() {} },
      });
      const booked: (boolean | string)[] = [];
      receiver.on("report.complete", async (event, { attempt }) => {
        await mine.query("BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1 FROM reporthook_once");
        try {
          // Another process books it, and this one has its snapshot already.
          if (attempt === 1) await once((sql) => other.query(sql), event, "book");
          booked.push(await once((sql) => mine.query(sql), event, "book"));
          await mine.query("COMMIT");
        } catch (error) {
          booked.push((error as { readonly code: string }).code);
          await mine.query("ROLLBACK");
          throw error;
        }
      });
      try {
        const sent = emulator.notification("report.complete", { reportId: "r-1" });
        await receiver.fetch(new Request("http://app.test/", sent));
        await expect.poll(() => booked).toEqual(["40001"]);
        await clock.advance(60_000);
        await receiver.idle();
        expect(booked).toEqual(["40001", false]);
        expect(await receiver.inbox.counts()).toMatchObject({ handled: 1 });
      } finally {
        await receiver.close();
        await Promise.all([mine.end(), other.end()]);
      }
    },
  );
});
