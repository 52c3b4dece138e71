import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kept, record } from "@reporthook/core/store";
import { afterAll, describe, expect, it } from "vitest";
import { type Database, loadDriver } from "./driver.ts";
import { Engine } from "./engine.ts";
import { OpenFile } from "./file.ts";
import { beatMs, lostAfterMs } from "./leases.ts";
import type { Add, Handed, LaneState, Recorded, Reply, Request } from "./protocol.ts";
import { changesOf, keptOf } from "./row.ts";
import { prepareSchema } from "./schema.ts";
import { kindOf } from "./tally.ts";

const folder = mkdtempSync(join(tmpdir(), "reporthook-engine-"));
afterAll(() => rmSync(folder, { recursive: true }));

const now = 1_000_000;
let files = 0;
let made = 0;

/** Real time, as the engines of one test see it. */
interface Time {
  ms: number;
}

interface Opened {
  readonly engine: Engine;
  readonly database: Database;
  turn(request?: Partial<Request>): Reply;
}

function open(path: string, time: Time = { ms: 0 }): Opened {
  const database = loadDriver().open(path);
  database.exec("PRAGMA busy_timeout = 3000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  prepareSchema(database, path, true);
  const retention = { handledMs: 1, parkedMs: 1 };
  const engine = new Engine(database, new OpenFile(path), { path, retention }, () => time.ms);
  const nothing = { adds: [], bytes: new Uint8Array(), records: [], calls: [], lanes: [] };
  return { engine, database, turn: (request) => engine.turn([{ ...nothing, ...request }]) };
}

const newPath = (): string => join(folder, `${++files}.db`);

function adds(...ids: readonly string[]): Pick<Request, "adds" | "bytes"> {
  const keys = ids.map(() => {
    const key = Buffer.alloc(24);
    key.writeUInt32BE(++made, 0);
    key.writeUInt32BE(made, 12);
    return key;
  });
  const add = (id: string): Add => [id, "a", now, 1, "s", "/", "{}", 0, 24, 0, null];
  return { adds: ids.map(add), bytes: Buffer.concat(keys) };
}

const lane = (places: number): LaneState => ({
  ...{ lane: 1, receiver: "a", stage: "verify", now, places },
});

function verified({ seq, row }: Handed): Recorded {
  const kept: Kept = keptOf(row ?? {}, "a");
  const kindBefore = kindOf(kept);
  const found = { type: "report.complete", reportId: "r" } as const;
  record(kept, { to: "verified", verification: "valid", ...found }, now, now);
  return [seq, "verify", "a", kindBefore, kindOf(kept), false, changesOf(kept, now)];
}

const idsOf = (reply: Reply): unknown[] => reply.handed.map(({ row }) => row?.["id"]);

describe("Engine", () => {
  it("turn() stores all but the one that fails, and goes on", () => {
    const { engine, database, turn } = open(newPath());
    database.exec(
      "CREATE TRIGGER bad BEFORE INSERT ON delivery WHEN new.id = 'bad' BEGIN SELECT raise(ABORT, 'no such luck'); END",
    );
    const { adds: results, numbers } = turn(adds("one", "bad", "two"));
    expect(results).toEqual([
      expect.any(Number),
      { code: "inbox_failed", failed: expect.stringContaining("no such luck") },
      expect.any(Number),
    ]);
    expect(numbers?.get("a")?.[0]).toBe(2);
    expect(turn(adds("three")).adds).toEqual([expect.any(Number)]);
    expect(engine.numbers.get("a")?.[0]).toBe(3);
    engine.close();
  });

  it("turn() undoes what a failing transaction counted, handed out and remembered", () => {
    const path = newPath();
    const { engine, database, turn } = open(path);
    turn({ ...adds("one") });
    database.exec(
      "CREATE TEMP TRIGGER full BEFORE UPDATE ON delivery BEGIN SELECT raise(ABORT, 'full'); END",
    );
    const failed = turn({ ...adds("two"), lanes: [lane(5)] });
    expect(failed.handed).toEqual([]);
    expect(failed.error?.failed).toContain("full");
    expect(failed.adds).toEqual([expect.any(Number)]);
    database.exec("DROP TRIGGER full");
    const later = engine.turn([]);
    expect(idsOf(later)).toEqual(["one", "two"]);
    expect(engine.numbers.get("a")?.[0]).toBe(2);
    engine.close();
    const again = open(path);
    expect(again.engine.numbers.get("a")?.[0]).toBe(2);
    again.engine.close();
  });

  it("turn() hands out no more than there are places, and each to one owner", () => {
    const path = newPath();
    const [one, other] = [open(path), open(path)];
    one.turn(adds("1", "2", "3", "4"));
    expect(idsOf(one.turn({ lanes: [lane(2)] }))).toEqual(["1", "2"]);
    expect(idsOf(other.turn({ lanes: [lane(1)] }))).toEqual(["3"]);
    expect(idsOf(other.turn({ lanes: [lane(5)] }))).toEqual(["4"]);
    expect(idsOf(one.turn({ lanes: [lane(0)] }))).toEqual([]);
    one.engine.close();
    other.engine.close();
  });

  it("turn() takes back what an owner had whose beat stands still, and nothing before", () => {
    const path = newPath();
    const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
    const [one, other] = [open(path, mine), open(path, theirs)];
    one.turn(adds("1"));
    const [handed] = one.turn({ lanes: [lane(1)] }).handed as [Handed];
    other.turn({ lanes: [lane(1)] });
    for (theirs.ms = beatMs; theirs.ms < 4 * lostAfterMs; theirs.ms += beatMs) {
      mine.ms = theirs.ms;
      expect(one.engine.restless).toBe(true);
      one.engine.turn([]);
      expect(idsOf(other.engine.turn([]))).toEqual([]);
    }
    const stillAt = theirs.ms;
    const looks: unknown[][] = [];
    while (looks.flat().length === 0) {
      looks.push(idsOf(other.engine.turn([])));
      theirs.ms += beatMs;
    }
    expect(theirs.ms - stillAt).toBeGreaterThanOrEqual(lostAfterMs - beatMs);
    expect(looks.flat()).toEqual(["1"]);

    mine.ms = theirs.ms;
    expect(one.turn({ records: [verified(handed)] }).records).toEqual([false]);
    expect(one.engine.numbers.get("a")?.[0]).toBe(1);
    other.engine.close();
    one.engine.close();
  });

  it("turn() tells an owner that stood still that its leases are lost", () => {
    const path = newPath();
    const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
    const [one, other] = [open(path, mine), open(path, theirs)];
    one.turn(adds("1"));
    one.turn({ lanes: [lane(1)] });
    other.turn({ lanes: [lane(1)] });
    for (; theirs.ms < 3 * lostAfterMs; theirs.ms += beatMs) other.engine.turn([]);
    mine.ms = theirs.ms;
    expect(one.engine.turn([]).lost).toBe(true);
    expect(one.engine.turn([]).lost).toBe(false);
    one.engine.close();
    other.engine.close();
  });

  it("turn() parks as poison what was begun five times and never recorded", () => {
    const path = newPath();
    open(path).turn(adds("1"));
    for (let start = 1; start <= 5; start++) {
      const time = { ms: 0 };
      const { engine, turn } = open(path, time);
      const later = { ...lane(1), now: now + 10 ** 15 };
      let handed = turn({ lanes: [later] }).handed;
      for (; handed.length === 0; time.ms += beatMs) handed = engine.turn([]).handed;
      expect(handed.length).toBe(1);
    }
    const time = { ms: 0 };
    const { engine, turn } = open(path, time);
    turn({ lanes: [lane(1)] });
    let reply = engine.turn([]);
    for (; reply.poisoned.length === 0; time.ms += beatMs) reply = engine.turn([]);
    expect(reply.poisoned).toMatchObject([{ receiver: "a", row: { id: "1", reason: "poison" } }]);
    expect(reply.handed).toEqual([]);
    expect(engine.numbers.get("a")).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0]);
    engine.close();
  });

  it("close() gives back what is leased, as if work on it had not begun", () => {
    const path = newPath();
    const one = open(path);
    one.turn(adds("1"));
    one.turn({ lanes: [lane(1)] });
    one.engine.close();
    const other = open(path);
    const [handed] = other.turn({ lanes: [lane(1)] }).handed;
    expect(handed?.row).toMatchObject({ id: "1", starts: 1, attempts: 0 });
    other.engine.close();
  });
});
