import { dayMs } from "@reporthook/core/store";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { watched } from "@reporthook/test-support/watched-database";
import fc from "fast-check";
import { expect, it, onTestFinished } from "vitest";
import { type Database, loadDriver, preparedOnce, type Value } from "../database/driver.ts";
import { prepareSchema } from "../database/schema.ts";
import { DedupeWindow } from "./dedupe.ts";

function database(): Database {
  const path = temporaryPath();
  const opened = loadDriver().open(path);
  prepareSchema(opened, path, true);
  opened.exec("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF");
  onTestFinished(() => opened.close());
  return opened;
}

/** A key whose two halves tell two numbers. */
function keyOf(signature: number, content: number): Uint8Array {
  const key = new Uint8Array(24);
  const view = new DataView(key.buffer);
  view.setUint32(0, Math.imul(signature + 1, 2_654_435_761));
  view.setUint32(8, signature);
  view.setUint32(12, Math.imul(content + 1, 2_246_822_519));
  view.setUint32(20, content);
  return key;
}

/** A window, and the part of an inbox that stores its keys. */
interface Store {
  readonly window: DedupeWindow;
  /** The answer of the window, as an inbox gives it. */
  find(key: Uint8Array, now: number): { duplicateOf?: string; sameSignatureAs?: string };
  /** Adds a key that is no duplicate; it is written once it is needed. */
  add(number: number, at: number, key: Uint8Array): void;
  write(): void;
  rollBack(): void;
}

function storeOn(file: Database, known = 1_000_000, firstRead = 2): Store {
  const insert = file.prepare(
    `INSERT INTO delivery (seq, id, arrived_at, key, is_reused, receiver, state, url, headers)
     VALUES (?, ?, ?, ?, ?, 1, 0, '', '')`,
  );
  const count = file.prepare(
    "INSERT OR REPLACE INTO tally VALUES (1, json_array(0, 0, 0, 0, 0, 0, 0, 0, 0, ?))",
  );
  let added: (readonly Value[])[] = [];
  const write = (): void => {
    for (const row of added) insert.run(...row);
    if (added.length > 0) count.run(added.at(-1)?.[0] ?? 0);
    added = [];
  };
  const window = new DedupeWindow(preparedOnce(file), write, known, firstRead);
  return {
    window,
    write,
    find(key, now) {
      const { unindexed: _, ...found } = window.find(key, now);
      return found;
    },
    add(number, at, key) {
      const found = window.find(key, at);
      added.push([number, `id ${number}`, at, key, found.unindexed.length > 0 ? 1 : null]);
      window.add(number, key, found);
    },
    rollBack() {
      added = [];
      window.rollBack();
    },
  };
}

const many = 1_000;

it.each([1, 7, 300])(
  "DedupeWindow knows each key for 24 hours, whichever process has stored it: %i written at once",
  (together) => {
    const file = database();
    const store = storeOn(file);
    for (let number = 1; number <= many; number++) {
      store.add(number, number, keyOf(number, number));
      if (number % together === 0) store.write();
    }
    store.write();
    for (const known of [store, storeOn(file)]) {
      for (let number = 1; number <= many; number++) {
        const copy = known.find(keyOf(number, number), number);
        expect(copy).toEqual({ duplicateOf: `id ${number}` });
        const sibling = known.find(keyOf(number, many + number), number);
        expect(sibling).toEqual({ sameSignatureAs: `id ${number}` });
      }
      expect(known.find(keyOf(500, 500), 500 + dayMs - 1)).toEqual({ duplicateOf: "id 500" });
      expect(known.find(keyOf(500, 500), 500 + dayMs)).toEqual({});
      expect(known.find(keyOf(0, 0), 500)).toEqual({});
    }
  },
);

it("DedupeWindow knows the last ones, of more than it keeps", () => {
  const file = database();
  const store = storeOn(file, 1_500, 100);
  file.exec("BEGIN");
  for (let number = 1; number <= 6_000; number++) store.add(number, number, keyOf(number, number));
  store.write();
  file.exec("COMMIT");
  for (const known of [store, storeOn(file, 1_500, 100)]) {
    for (let number = 4_501; number <= 6_000; number++) {
      expect(known.find(keyOf(number, number), 6_000)).toEqual({ duplicateOf: `id ${number}` });
    }
    expect(known.find(keyOf(1, 1), 6_000)).toEqual({});
  }
});

it.each([
  ["was a day ahead", false],
  ["was a day ahead, and is rolled back", true],
])(
  "DedupeWindow finds the first key of a signature after a second one that %s",
  (_what, isUndone) => {
    const file = database();
    const store = storeOn(file);
    store.add(1, 0, keyOf(1, 1));
    store.write();
    file.exec("BEGIN");
    store.window.begin();
    store.add(2, 2 * dayMs, keyOf(1, 2));
    store.write();
    file.exec(isUndone ? "ROLLBACK" : "COMMIT");
    if (isUndone) store.rollBack();
    expect(store.find(keyOf(1, 1), 1)).toEqual({ duplicateOf: "id 1" });
  },
);

it("DedupeWindow names one with the same signature that is within the window", () => {
  const file = database();
  const store = storeOn(file);
  store.add(1, 0, keyOf(1, 1));
  store.add(2, dayMs, keyOf(1, 2));
  expect(store.find(keyOf(1, 3), dayMs + 1)).toEqual({ sameSignatureAs: "id 2" });
});

/** The same, all signatures beginning alike. */
function alikeKeyOf(signature: number, content: number): Uint8Array {
  const key = keyOf(0, content);
  key[11] = signature;
  return key;
}

interface Known {
  readonly signature: number;
  readonly content: number;
}

/** Expects the right answer of a window for every key, when it holds these. */
function expectKnown(
  { window }: Store,
  held: ReadonlyMap<number, Known>,
  keyOf: (signature: number, content: number) => Uint8Array,
): void {
  for (const signature of [0, 1]) {
    const ids = (fits: (one: Known) => boolean): string[] =>
      [...held].filter(([, one]) => fits(one)).map(([seq]) => `id ${seq}`);
    const siblings = ids((one) => one.signature === signature);
    for (const content of [0, 1, 2, 3, 4, 5]) {
      const copies = ids((one) => one.signature === signature && one.content === content);
      const { duplicateOf, sameSignatureAs } = window.find(keyOf(signature, content), 0);
      expect(duplicateOf).toBe(copies[0]);
      if (copies.length > 0 || siblings.length === 0) expect(sameSignatureAs).toBeUndefined();
      else expect(siblings).toContain(sameSignatureAs);
    }
  }
}

it.each([
  ["as they come", keyOf],
  ["of signatures that begin alike", alikeKeyOf],
])(
  "DedupeWindow tells copies and siblings of keys %s, whatever was added, discarded and rolled back",
  (_what, keyOf) => {
    const step = fc.record({
      signature: fc.nat({ max: 1 }),
      content: fc.nat({ max: 5 }),
      discards: fc.option(fc.nat()),
    });
    const transaction = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 8 }),
      fails: fc.boolean(),
    });
    const run = fc.property(fc.array(transaction, { maxLength: 12 }), (transactions) => {
      const file = database();
      // As two processes that share the file, in turns.
      const stores = [storeOn(file), storeOn(file)];
      const discard = file.prepare("DELETE FROM delivery WHERE seq = ?");
      let held: ReadonlyMap<number, Known> = new Map();
      let last = 0;
      for (const [turn, { steps, fails }] of transactions.entries()) {
        const [now, lastBefore] = [new Map(held), last];
        const store = stores[turn % 2] as Store;
        file.exec("BEGIN");
        store.window.catchUp();
        store.window.begin();
        for (const { signature, content, discards } of steps) {
          if (discards !== null) {
            store.write();
            const gone = [...now.keys()][discards % Math.max(1, now.size)];
            if (gone !== undefined && now.delete(gone)) discard.run(gone);
          }
          expectKnown(store, now, keyOf);
          const key = keyOf(signature, content);
          if (store.find(key, 0).duplicateOf !== undefined) continue;
          store.add(++last, 0, key);
          now.set(last, { signature, content });
        }
        store.write();
        file.exec(fails ? "ROLLBACK" : "COMMIT");
        if (fails) {
          store.rollBack();
          last = lastBefore;
        } else held = now;
        for (const { window } of stores) window.catchUp();
        for (const one of [...stores, storeOn(file)]) expectKnown(one, held, keyOf);
      }
    });
    fc.assert(run, { numRuns: 100 });
  },
);

it("DedupeWindow asks the file hardly anything about a signature whose thousands are gone", () => {
  const file = database();
  let questions = 0;
  const counting = watched(file, (_, use) => {
    if (use === "get") questions++;
  });
  const store = storeOn(counting);
  file.exec("BEGIN");
  for (let number = 1; number <= 5_000; number++) store.add(number, 0, keyOf(1, number));
  store.write();
  file.exec("DELETE FROM delivery; COMMIT");
  questions = 0;
  expect(store.find(keyOf(1, 7), 0)).toEqual({});
  expect(questions).toBeLessThan(10);
});

it("DedupeWindow asks the file nothing about a signature that is new, and reads it once", () => {
  const file = database();
  const store = storeOn(file, 10_000, 50);
  for (let number = 1; number <= many; number++) store.add(number, 0, keyOf(number, number));
  store.write();
  const statements: string[] = [];
  const counting = watched(file, (sql, use) => {
    if (use === "get") statements.push(sql);
  });
  const other = storeOn(counting, 10_000, 50);
  for (let number = 1; number <= 100; number++) {
    expect(other.find(keyOf(many + number, 1), 0)).toEqual({});
  }
  // 50, 100, 200, 400, 800 of them.
  expect(statements.filter((sql) => sql.includes("group_concat"))).toHaveLength(5);
  expect(statements.length).toBeLessThan(20);
});
