import {
  closeSync,
  openSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { temporaryPath } from "@reporthook/test-support/temporary";
import fc from "fast-check";
import { expect, it, onTestFinished, vi } from "vitest";
import { type Database, loadDriver } from "./driver.ts";
import { LogContent } from "./log-content.ts";

const driver = loadDriver();
const afterRead = vi.hoisted(() => ({ once: null as (() => void) | null }));
vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  return {
    ...real,
    readSync: (...given: Parameters<typeof real.readSync>) => {
      const read = real.readSync(...given);
      const { once } = afterRead;
      afterRead.once = null;
      once?.();
      return read;
    },
  };
});

/** Writes zeros into a file, from this place on. */
function damage(file: string, at: number, length: number): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, Buffer.alloc(length), 0, length, at);
  closeSync(descriptor);
}

function setUp() {
  const path = temporaryPath();
  const connect = (): Database => {
    const database = driver.open(path);
    onTestFinished(() => database.close());
    database.exec(
      "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -100",
    );
    return database;
  };
  const [database, other] = [connect(), connect()];
  database.exec("CREATE TABLE bytes (value)");
  const log = new LogContent(path);
  onTestFinished(() => log.close());
  const insert = database.prepare("INSERT INTO bytes VALUES (zeroblob(?))");
  /** The results of `look()` and `hasGrown()` at a commit of so many bytes. */
  const commit = (bytes: number, meanwhile: () => void = () => {}): unknown[] => {
    database.exec("BEGIN IMMEDIATE");
    for (let left = bytes; left > 0; left -= 3_000) insert.run(Math.min(left, 3_000));
    const looked = log.look();
    database.exec("COMMIT");
    afterRead.once = meanwhile;
    return [looked, log.hasGrown()];
  };
  return { path, other, log, commit };
}

it("hasGrown() finds no damage where another process starts the log over, while more than the cache is committed", () => {
  const { other, commit } = setUp();
  expect(commit(1_000_000)).toEqual([null, true]);
  const startOver = (): void => {
    other.exec("PRAGMA wal_checkpoint(PASSIVE); INSERT INTO bytes VALUES (1)");
  };
  expect(commit(1_000_000, startOver)).toEqual([null, true]);
  expect(commit(1_000)).toEqual([null, true]);
});

it("look() finds a damaged frame that was the last one at the look before", () => {
  const { path, log, commit } = setUp();
  expect(log.isWhole()).toBe(true);
  expect(commit(20_000)).toEqual([null, true]);
  const { size } = statSync(`${path}-wal`);
  expect(commit(20_000)).toEqual([null, true]);
  damage(`${path}-wal`, size - 4_120, 4_120);
  expect(commit(20_000)[0]).toBe("-wal");
});

it.each([20_000, 17_000_000])(
  "look() finds an index whose pages are overwritten, but for its header, beside a log of %d bytes",
  (bytes) => {
    const { path, commit } = setUp();
    expect(commit(bytes)).toEqual([null, true]);
    expect(commit(1_000)).toEqual([null, true]);
    damage(`${path}-shm`, 136, statSync(`${path}-shm`).size - 136);
    expect(commit(1_000)[0]).toBe("-shm");
  },
);

it("a log and an index of any content are judged without an error, and a part of an index is damage", () => {
  const { path, commit } = setUp();
  expect(commit(20_000)).toEqual([null, true]);
  const log = readFileSync(`${path}-wal`);
  const index = readFileSync(`${path}-shm`);
  const copy = temporaryPath();
  const judged = (ofLog: Uint8Array, ofIndex: Uint8Array): string | null => {
    writeFileSync(`${copy}-wal`, ofLog);
    writeFileSync(`${copy}-shm`, ofIndex);
    const content = new LogContent(copy);
    content.isWhole();
    const looked = content.look();
    content.hasGrown();
    content.isWhole();
    content.close();
    return looked;
  };
  expect(judged(log, index)).toBe(null);
  const inHeader = fc.tuple(fc.nat(24), fc.uint8Array({ minLength: 1, maxLength: 8 }));
  fc.assert(
    fc.property(inHeader, fc.nat(9_000), fc.nat(99), ([at, bytes], logBytes, indexBytes) => {
      const changed = Buffer.from(log);
      changed.set(bytes, at);
      judged(changed, index);
      judged(log.subarray(0, logBytes), index);
      expect(judged(log, index.subarray(0, indexBytes))).toBe("-shm");
    }),
  );
});

it.each([1, 2, 63, 64, 65, 66, 128, 129, 200])(
  "isWhole() finds a damaged frame in a log of hundreds: the one of number %d",
  (number) => {
    const { path, log, commit } = setUp();
    expect(commit(1_000_000)).toEqual([null, true]);
    expect(log.isWhole()).toBe(true);
    damage(`${path}-wal`, 32 + (number - 1) * 4_120, 24);
    // A file's time may be the same for some milliseconds.
    utimesSync(`${path}-wal`, 1, 1);
    expect(log.isWhole()).toBe(false);
  },
);
