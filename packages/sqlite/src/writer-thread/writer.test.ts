import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kept, newKept, record } from "@reporthook/core/store";
import { afterAll, describe, expect, it } from "vitest";
import { type Database, loadDriver } from "../database/driver.ts";
import { OpenFile } from "../database/file-guard.ts";
import { prepareSchema } from "../database/migrations.ts";
import { kindOf } from "../protocol/kinds.ts";
import type { Alike, Handed, LaneState, Recorded, Reply, Request } from "../protocol/protocol.ts";
import { beatMs, lostAfterMs } from "../protocol/protocol.ts";
import { changesOf, keptOf } from "../protocol/row.ts";
import { Engine } from "./writer.ts";

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

function open(
  path: string,
  time: Time = { ms: 0 },
  fails: (sql: string) => boolean = () => false,
): Opened {
  const database = failing(loadDriver().open(path), fails);
  database.exec("PRAGMA busy_timeout = 3000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  prepareSchema(database, path, true);
  const retention = { handledMs: 1, parkedMs: 1 };
  const engine = new Engine(database, new OpenFile(path), { path, retention }, () => time.ms);
  const nothing = {
    adds: [],
    bytes: new Uint8Array(),
    records: [],
    calls: [],
    lanes: [],
    sentAt: 0,
  };
  return { engine, database, turn: (request) => engine.turn([{ ...nothing, ...request }]) };
}

/** The same database, with statements that fail. */
function failing(database: Database, fails: (sql: string) => boolean): Database {
  const tried = <T>(sql: string, run: () => T): T => {
    if (fails(sql)) throw new Error("out of order");
    return run();
  };
  return {
    close: () => database.close(),
    exec: (sql) => tried(sql, () => database.exec(sql)),
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        run: (...values) => tried(sql, () => statement.run(...values)),
        get: (...values) => tried(sql, () => statement.get(...values)),
        all: (...values) => tried(sql, () => statement.all(...values)),
      };
    },
  };
}

const newPath = (): string => join(folder, `${++files}.db`);

function adds(...ids: readonly string[]): Pick<Request, "adds" | "bytes"> {
  const keys = ids.map(() => {
    const key = Buffer.alloc(24);
    key.writeUInt32BE(++made, 0);
    key.writeUInt32BE(made, 12);
    return key;
  });
  return { adds: [alike(ids, { keyBytes: 24 })], bytes: Buffer.concat(keys) };
}

/** What differs from a signed one without a body. */
interface Different extends Partial<Pick<Alike, "kind" | "changes">> {
  readonly signature?: null;
  readonly bodyBytes?: number;
  readonly keyBytes?: number;
}

function alike(ids: readonly string[], different: Different = {}): Alike {
  const { kind = 0, changes = null, bodyBytes = 0, keyBytes = 0, signature = "s" } = different;
  const ofEach = <T>(value: T): T[] => ids.map(() => value);
  return {
    ...{ receiver: "a", url: "/", headers: "{}", context: null, kind, changes, ids },
    ...{ receivedAt: ofEach(now), ackMs: ofEach(1), signatures: ofEach(signature) },
    ...{ bodyBytes: ofEach(bodyBytes), keyBytes: ofEach(keyBytes) },
  };
}

/** Unsigned ones, parked at once. */
function held(...ids: readonly string[]): Pick<Request, "adds" | "bytes"> {
  const reason = { code: "unsigned", message: "" } as const;
  const parked = ids.map((id) => {
    const delivery = {
      ...{ id, receiver: "a", receivedAt: now, key: null, signature: null },
      ...bare,
    };
    const kept = newKept(delivery, { to: "held", verification: "unsigned", reason }, null);
    return alike([id], { signature: null, kind: kindOf(kept), changes: changesOf(kept, now) });
  });
  return { adds: parked, bytes: new Uint8Array() };
}

const bare = { url: "/", context: null, headers: {}, body: new Uint8Array(), ackMs: 1 };
const of = (receiver: string, one: Alike): Alike => ({ ...one, receiver });
const handling = (places: number): LaneState => ({ ...lane(places), lane: 2, stage: "handle" });

const lane = (places: number): LaneState => ({
  ...{ lane: 1, receiver: "a", stage: "verify", now, places },
});

function verified({ seq, row }: Handed, owner: number | null): Recorded {
  const kept: Kept = keptOf(row ?? {}, "a");
  const kindBefore = kindOf(kept);
  const found = { type: "report.complete", reportId: "r" } as const;
  record(kept, { to: "verified", verification: "valid", ...found }, now, now);
  return [seq, "verify", owner ?? 0, "a", kindBefore, kindOf(kept), false, changesOf(kept, now)];
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

  it("turn() hands out a part of a backlog, the oldest first, and tells that more is due", () => {
    const { engine, turn } = open(newPath());
    const ids = Array.from({ length: 40 }, (_, index) => `${index}`);
    turn(adds(...ids));
    const first = turn({ lanes: [lane(100)] });
    expect(idsOf(first)).toEqual(ids.slice(0, 32));
    expect(first.due).toEqual([{ lane: 1, at: now }]);
    const second = turn({ ...adds("new"), lanes: [lane(0)] });
    expect(second.handed).toHaveLength(9);
    expect(idsOf(second).slice(0, 8)).toEqual(ids.slice(32));
    expect(second.due).toEqual([{ lane: 1, at: null }]);
    engine.close();
  });

  it("turn() hands out more than comes to wait, or a backlog would stay", () => {
    const { engine, turn } = open(newPath());
    const many = (of: string): string[] => Array.from({ length: 50 }, (_, n) => `${of}${n}`);
    turn(adds(...many("a"), ...many("b")));
    turn({ lanes: [lane(200)] });
    const { handed, due } = turn({ ...adds(...many("c")), lanes: [lane(0)] });
    expect(handed).toHaveLength(100);
    expect(due).toEqual([{ lane: 1, at: now }]);
    engine.close();
  });

  it("turn() hands out nothing for places that were withdrawn", () => {
    const { engine, turn } = open(newPath());
    turn({ lanes: [lane(5)] });
    expect(turn({ ...adds("1", "2"), lanes: [lane(-4)] }).handed).toHaveLength(1);
    expect(turn({ lanes: [lane(-3)] }).handed).toEqual([]);
    expect(idsOf(turn({ lanes: [lane(3)] }))).toEqual([]);
    expect(idsOf(turn({ lanes: [lane(1)] }))).toEqual(["2"]);
    engine.close();
  });

  it.each([
    ["is gone", () => {}],
    ["has a file in its place", (own: string) => writeFileSync(own, "")],
    ["is a link to itself", (own: string) => symlinkSync(own, own)],
  ])("turn() stores nothing that it refuses, when its folder %s", (_what, replace) => {
    const own = mkdtempSync(join(folder, "own-"));
    const { engine, database, turn } = open(join(own, "inbox.db"));
    turn(held("1"));
    renameSync(own, `${own}-away`);
    replace(own);
    expect(turn(held("2")).adds).toMatchObject([{ code: "inbox_failed" }]);
    expect(turn(held("3")).adds).toMatchObject([{ code: "inbox_failed" }]);
    expect(database.prepare("SELECT id FROM delivery").all()).toEqual([{ id: "1" }]);
    rmSync(own, { force: true });
    renameSync(`${own}-away`, own);
    expect(turn(held("4")).adds).toEqual([2]);
    engine.close();
  });

  it("turn() counts a large body as several places, read or just stored", () => {
    const { engine, turn } = open(newPath());
    const bytes = new Uint8Array(200 * 1_024);
    const large = (id: string) => ({ adds: [alike([id], { bodyBytes: bytes.length })], bytes });
    for (const id of ["1", "2", "3"]) turn(large(id));
    const read = turn({ lanes: [lane(5)] });
    expect(read.handed).toMatchObject([{ places: 4 }, { places: 4 }]);
    expect(read.due).toEqual([]);
    expect(turn({ lanes: [lane(5)] }).handed).toMatchObject([{ places: 4 }]);
    expect(turn({ ...large("4"), lanes: [lane(5)] }).handed).toMatchObject([{ places: 4 }]);
    engine.close();
  });

  it("turn() takes back what an owner had whose beat stands still, and nothing before", () => {
    const path = newPath();
    const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
    const [one, other] = [open(path, mine), open(path, theirs)];
    one.turn(adds("1"));
    const { handed, owner } = one.turn({ lanes: [lane(1)] });
    const [first] = handed as [Handed];
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
    expect(one.turn({ records: [verified(first, owner)] }).records).toEqual([false]);
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
      const at = now + start * 10 ** 9;
      let handed = turn({ lanes: [{ ...lane(1), now: at }] }).handed;
      for (; handed.length === 0; time.ms += beatMs) {
        const told = { ...lane(0), now: at + time.ms * 1_000 };
        handed = [...engine.turn([]).handed, ...turn({ lanes: [told] }).handed];
      }
      expect(handed.length).toBe(1);
    }
    const time = { ms: 0 };
    const { engine, turn } = open(path, time);
    turn({ lanes: [lane(1)] });
    let reply = engine.turn([]);
    for (; reply.poisoned.length === 0; time.ms += beatMs) reply = engine.turn([]);
    expect(reply.poisoned).toMatchObject([{ receiver: "a", row: { id: "1", reason: "poison" } }]);
    expect(reply.handed).toEqual([]);
    expect(engine.numbers.get("a")).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
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

  it("turn() hands out a released one as it is now, although it was stored in the same turn", () => {
    const { engine, turn } = open(newPath());
    turn({ lanes: [handling(1)] });
    const release = { receiver: "a", reason: "unsigned", now } as const;
    const { handed } = turn({
      ...{ ...held("1"), lanes: [handling(0)] },
      calls: [{ ask: "release", query: release, after: "" }],
    });
    expect(handed.map(({ row }) => row)).toMatchObject([{ id: "1", released: 1, state: 1 }]);
    engine.close();
  });

  it("turn() strands nothing when not even its transaction can begin", () => {
    const path = newPath();
    let failures = 0;
    const { engine, turn } = open(path, { ms: 0 }, (sql) => {
      return sql === "BEGIN IMMEDIATE" && failures-- > 0;
    });
    turn({ lanes: [lane(2)] });
    failures = 1;
    const { adds: stored, error, handed } = turn({ ...adds("1"), lanes: [lane(0)] });
    expect(error?.failed).toContain("out of order");
    expect(stored).toEqual([1]);
    expect([...handed, ...engine.turn([]).handed].length).toBe(1);
    engine.close();
  });

  it("turn() drops what comes of a lease that was lost, although this process has it again", () => {
    const path = newPath();
    const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
    const [one, other] = [open(path, mine), open(path, theirs)];
    one.turn(adds("1"));
    const { handed, owner } = one.turn({ lanes: [lane(1)] });
    const [first] = handed as [Handed];
    other.turn({ lanes: [lane(0)] });
    for (; theirs.ms < 3 * lostAfterMs; theirs.ms += beatMs) other.engine.turn([]);
    mine.ms = theirs.ms;
    const again = one.turn({ lanes: [lane(1)] });
    expect(again.lost).toBe(true);
    const [second] = again.handed as [Handed];
    expect(second.seq).toBe(first.seq);
    expect(one.turn({ records: [verified(first, owner)] }).records).toEqual([false]);
    expect(one.turn({ records: [verified(second, again.owner)] }).records).toEqual([true]);
    one.engine.close();
    other.engine.close();
  });

  it("turn() leaves an owner its leases, if it was itself that stood still", () => {
    const path = newPath();
    const time = { ms: 0 };
    const [one, other] = [open(path, time), open(path, time)];
    one.turn(adds("1"));
    one.turn({ lanes: [lane(1)] });
    other.turn({ lanes: [lane(1)] });
    for (; time.ms < 2 * lostAfterMs; time.ms += beatMs) {
      one.engine.turn([]);
      other.engine.turn([]);
    }
    time.ms += 2 * lostAfterMs;
    expect(idsOf(other.engine.turn([]))).toEqual([]);
    expect(one.engine.turn([]).lost).toBe(false);
    one.engine.close();
    other.engine.close();
  });

  it("turn() gives no number twice, so that no key is taken for one that is gone", () => {
    const path = newPath();
    const [app, tool] = [open(path), open(path)];
    app.turn(held("1", "2", "3"));
    for (const id of ["1", "2", "3"]) tool.turn({ calls: [{ ask: "discard", id, receiver: "a" }] });
    const [four, copy] = [adds("4"), adds("copy")];
    expect(app.turn(four).adds).toEqual([4]);
    expect(tool.turn({ adds: copy.adds, bytes: four.bytes }).adds).toEqual([{ duplicateOf: "4" }]);
    expect(app.turn({ adds: copy.adds, bytes: four.bytes }).adds).toEqual([{ duplicateOf: "4" }]);
    app.engine.close();
    tool.engine.close();
    const again = open(path);
    expect(again.turn({ adds: copy.adds, bytes: four.bytes }).adds).toEqual([{ duplicateOf: "4" }]);
    again.engine.close();
  });

  it("turn() knows nothing that was rolled back, even if the file could not be read then", () => {
    const path = newPath();
    let failing: string[] = [];
    const fails = (sql: string): boolean => {
      const isNext = failing[0] !== undefined && sql.startsWith(failing[0]);
      if (isNext) failing = failing.slice(1);
      return isNext;
    };
    const { engine, turn } = open(path, { ms: 0 }, fails);
    turn(adds("1"));
    failing = ["COMMIT", "SELECT receiver, kind"];
    const ofB = adds("2");
    expect(turn({ ...ofB, adds: ofB.adds.map((add) => of("b", add)) }).adds).toEqual([2]);
    expect(failing).toEqual([]);
    const ofC = adds("3");
    expect(turn({ ...ofC, adds: ofC.adds.map((add) => of("c", add)) }).adds).toEqual([3]);
    engine.close();
    const again = open(path);
    const list = (receiver: string): unknown =>
      again.turn({ calls: [{ ask: "list", query: { receiver } }] }).calls[0];
    for (const [receiver, id] of [
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ] as const) {
      expect(list(receiver)).toMatchObject({ value: [{ id }] });
      expect(again.engine.numbers.get(receiver)?.[0]).toBe(1);
    }
    again.engine.close();
  });

  it("turn() reads a row that somebody has written nonsense into", () => {
    const { engine, database, turn } = open(newPath());
    turn(adds("1", "2", "3"));
    database.exec("UPDATE delivery SET headers = 'no', history = 'no' WHERE id = '1'");
    database.exec("UPDATE delivery SET headers = '1', history = '{}' WHERE id = '2'");
    const { handed } = turn({ lanes: [lane(3)] });
    const kept = handed.map(({ row }) => keptOf(row ?? {}, "a"));
    expect(kept.map(({ headers, history }) => [headers, history])).toEqual([
      [{}, []],
      [{}, []],
      [{}, []],
    ]);
    engine.close();
  });
});
