import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dayMs } from "@reporthook/core/store";
import { isQuick } from "@reporthook/test-support/needs";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { type Database, loadDriver } from "../../database/driver.ts";
import { prepareSchema } from "../../database/schema.ts";
import { DedupeWindow } from "./window.ts";

const folder = mkdtempSync(join(tmpdir(), "reporthook-window-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

function database(): Database {
  const path = join(folder, `${++files}.db`);
  const opened = loadDriver().open(path);
  prepareSchema(opened, path, true);
  opened.exec("PRAGMA synchronous = OFF");
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

const perGeneration = 100;
const many = 1_000;

// In the file, keys that are written together are one row: 300 are two.
it.each([1, 7, 300])(
  "a DedupeWindow knows each key for 24 hours, and deletes it then, a few at a time: %i keys a row",
  (together) => {
    const file = database();
    const window = new DedupeWindow(file, perGeneration);
    for (let number = 1; number <= many; number++) {
      window.add(number, `id ${number}`, number, keyOf(number, number));
      if (number % together === 0) window.write();
    }
    window.write();
    for (const known of [window, new DedupeWindow(file, perGeneration)]) {
      for (let number = 1; number <= many; number++) {
        const copy = known.find(keyOf(number, number), number);
        expect(copy).toEqual({ duplicateOf: `id ${number}` });
        const sibling = known.find(keyOf(number, many + number), number);
        expect(sibling).toEqual({ sameSignatureAs: `id ${number}` });
      }
    }
    expect(window.find(keyOf(500, 500), 500 + dayMs - 1)).toEqual({ duplicateOf: "id 500" });
    expect(window.find(keyOf(500, 500), 500 + dayMs)).toEqual({});
    const left = () => Number(file.prepare("SELECT sum(number) AS sum FROM seen").get()?.["sum"]);
    // A row goes when its last key is over.
    const over = 200 - (200 % Math.min(together, 256));
    expect(window.prune(200 + dayMs, 150)).toBe(over > 150);
    expect(left()).toBeGreaterThanOrEqual(many - 150 - together);
    expect(window.prune(200 + dayMs, 150)).toBe(false);
    expect(left()).toBe(many - over);
    expect(window.prune(200 + dayMs, 150)).toBe(false);
    while (window.prune(many + dayMs, 150));
    expect(left()).toBe(0);
    expect(file.prepare("SELECT count(*) AS number FROM seen_before").get()?.["number"]).toBe(0);
    expect(window.find(keyOf(900, 900), 900)).toEqual({});
    file.close();
  },
);

it.each([
  ["was a day ahead", false],
  ["was a day ahead, and is rolled back", true],
])(
  "a DedupeWindow finds the first key of a signature after a second key that %s",
  (_what, isUndone) => {
    const file = database();
    const window = new DedupeWindow(file, perGeneration);
    window.add(1, "one", 0, keyOf(1, 1));
    window.write();
    window.begin();
    file.exec("BEGIN");
    window.add(2, "two", 2 * dayMs, keyOf(1, 2));
    window.write();
    file.exec(isUndone ? "ROLLBACK" : "COMMIT");
    if (isUndone) window.rollBack();
    expect(window.find(keyOf(1, 1), 1)).toEqual({ duplicateOf: "one" });
    file.close();
  },
);

it("a DedupeWindow names a delivery with the same signature that is within the window", () => {
  const file = database();
  const window = new DedupeWindow(file, perGeneration);
  window.add(1, "one", 0, keyOf(1, 1));
  window.write();
  window.add(2, "two", dayMs, keyOf(1, 2));
  window.write();
  expect(window.find(keyOf(1, 3), dayMs + 1)).toEqual({ sameSignatureAs: "two" });
  file.close();
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

/** What a window has to say of every key, when these are the ones that it holds. */
function expectKnown(
  window: DedupeWindow,
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
  "a DedupeWindow tells copies and siblings of keys %s, whatever was added, forgotten and rolled back",
  (_what, keyOf) => {
    const step = fc.record({
      signature: fc.nat({ max: 1 }),
      content: fc.nat({ max: 5 }),
      forgets: fc.option(fc.nat()),
    });
    const transaction = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 8 }),
      fails: fc.boolean(),
    });
    const run = fc.property(fc.array(transaction, { maxLength: 12 }), (transactions) => {
      const file = database();
      // As two processes that share the file, in turns.
      const windows = [new DedupeWindow(file, 5), new DedupeWindow(file, 5)];
      let held: ReadonlyMap<number, Known> = new Map();
      let last = 0;
      for (const [turn, { steps, fails }] of transactions.entries()) {
        const [now, lastBefore] = [new Map(held), last];
        const window = windows[turn % 2] as DedupeWindow;
        file.exec("BEGIN");
        window.catchUp();
        window.begin();
        for (const { signature, content, forgets } of steps) {
          if (forgets !== null) {
            const gone = [...now.keys()][forgets % Math.max(1, now.size)];
            if (gone !== undefined && now.delete(gone)) window.forget(gone);
          }
          expectKnown(window, now, keyOf);
          const key = keyOf(signature, content);
          if (window.find(key, 0).duplicateOf !== undefined) continue;
          window.add(++last, `id ${last}`, 0, key);
          now.set(last, { signature, content });
        }
        window.write();
        file.exec(fails ? "ROLLBACK" : "COMMIT");
        if (fails) {
          window.rollBack();
          last = lastBefore;
        } else held = now;
        for (const one of windows) one.catchUp();
        for (const one of [...windows, new DedupeWindow(file, 5)]) expectKnown(one, held, keyOf);
      }
      file.close();
    });
    fc.assert(run, { numRuns: isQuick ? 25 : 100 });
  },
);

it("a DedupeWindow asks the file hardly anything about a signature whose thousands are gone", () => {
  const file = database();
  let questions = 0;
  const counting: Database = {
    ...file,
    prepare(sql) {
      const statement = file.prepare(sql);
      return {
        ...statement,
        get(...values) {
          questions++;
          return statement.get(...values);
        },
      };
    },
  };
  const window = new DedupeWindow(counting);
  for (let number = 1; number <= 5_000; number++) {
    window.add(number, `id ${number}`, 0, keyOf(1, number));
    if (number % 16 === 0) window.write();
  }
  window.write();
  window.begin();
  for (let number = 1; number <= 5_000; number++) window.forget(number);
  window.write();
  questions = 0;
  expect(window.find(keyOf(1, 7), 0)).toEqual({});
  expect(questions).toBeLessThan(10);
  file.close();
});

it("a DedupeWindow brings keys into the index that others store, so that it does not keep them all in memory", () => {
  const file = database();
  const [writer, reader] = [new DedupeWindow(file), new DedupeWindow(file, perGeneration)];
  for (let number = 1; number <= many; number++) {
    writer.add(number, `id ${number}`, 0, keyOf(number, number));
    writer.write();
    reader.catchUp();
    reader.begin();
    reader.write();
  }
  const inIndex = file.prepare("SELECT count(*) AS number FROM seen_before").get()?.["number"];
  expect(Number(inIndex)).toBeGreaterThan(many - 4 * perGeneration);
  file.close();
});

it("a DedupeWindow brings few keys into the index at its first write, however many it has found", () => {
  const file = database();
  const writer = new DedupeWindow(file);
  for (let number = 1; number <= 20_000; number++) {
    writer.add(number, `id ${number}`, 0, keyOf(number, number));
  }
  writer.write();
  const window = new DedupeWindow(file, 11_000);
  window.begin();
  window.add(20_001, "next", 0, keyOf(20_001, 20_001));
  window.write();
  const inIndex = file.prepare("SELECT count(*) AS number FROM seen_before").get()?.["number"];
  expect(Number(inIndex)).toBeLessThan(1_000);
  file.close();
});
