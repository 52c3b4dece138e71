import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applyOutcome, type Kept, newKept } from "@reporthook/core/store";
import { afterAll, describe, expect, it } from "vitest";
import { type Database, loadDriver } from "../database/driver.ts";
import { FileGuard } from "../database/file-guard.ts";
import { prepareSchema } from "../database/migrations.ts";
import { kindOf } from "../protocol/kinds.ts";
import type {
  AddBatch,
  Claimed,
  Completion,
  ConsumerState,
  Reply,
  Request,
} from "../protocol/protocol.ts";
import { heartbeatMs, leaseLostAfterMs } from "../protocol/protocol.ts";
import { changesOf, keptOf } from "../protocol/row.ts";
import { Writer } from "./writer.ts";

const folder = mkdtempSync(join(tmpdir(), "reporthook-writer-"));
afterAll(() => rmSync(folder, { recursive: true }));

const now = 1_000_000;
let files = 0;
let made = 0;

/** Real time, as the writers of one test see it. */
interface Time {
  ms: number;
}

interface Opened {
  readonly writer: Writer;
  readonly database: Database;
  commit(request?: Partial<Request>): Reply;
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
  const writer = new Writer(database, new FileGuard(path), { path, retention }, () => time.ms);
  const nothing = {
    adds: [],
    bytes: new Uint8Array(),
    completions: [],
    calls: [],
    consumers: [],
    sentAt: 0,
  };
  return {
    writer,
    database,
    commit: (request) => writer.commitBatch([{ ...nothing, ...request }]),
  };
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
interface Different extends Partial<Pick<AddBatch, "kind" | "changes">> {
  readonly signature?: null;
  readonly bodyBytes?: number;
  readonly keyBytes?: number;
}

function alike(ids: readonly string[], different: Different = {}): AddBatch {
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
const of = (receiver: string, one: AddBatch): AddBatch => ({ ...one, receiver });
const handling = (credit: number): ConsumerState => ({
  ...consumer(credit),
  consumer: 2,
  stage: "handle",
});

const consumer = (credit: number): ConsumerState => ({
  ...{ consumer: 1, receiver: "a", stage: "verify", now, credit },
});

function verified({ seq, row }: Claimed, workerId: number | null): Completion {
  const kept: Kept = keptOf(row ?? {}, "a");
  const kindBefore = kindOf(kept);
  const found = { type: "report.complete", reportId: "r" } as const;
  applyOutcome(kept, { to: "verified", verification: "valid", ...found }, now, now);
  return {
    ...{ seq, stage: "verify", leasedTo: workerId ?? 0, receiver: "a", dropBody: false },
    ...{ kindBefore, kindAfter: kindOf(kept), changes: changesOf(kept, now) },
  };
}

const idsOf = (reply: Reply): unknown[] => reply.claimed.map(({ row }) => row?.["id"]);

describe("Writer", () => {
  it("commit() stores all but the one that fails, and goes on", () => {
    const { writer, database, commit } = open(newPath());
    database.exec(
      "CREATE TRIGGER bad BEFORE INSERT ON delivery WHEN new.id = 'bad' BEGIN SELECT raise(ABORT, 'no such luck'); END",
    );
    const { adds: results, counts } = commit(adds("one", "bad", "two"));
    expect(results).toEqual([
      expect.any(Number),
      { code: "inbox_failed", failed: expect.stringContaining("no such luck") },
      expect.any(Number),
    ]);
    expect(counts?.get("a")?.[0]).toBe(2);
    expect(commit(adds("three")).adds).toEqual([expect.any(Number)]);
    expect(writer.counts.get("a")?.[0]).toBe(3);
    writer.close();
  });

  it("commit() undoes what a failing transaction counted, claimed out and remembered", () => {
    const path = newPath();
    const { writer, database, commit } = open(path);
    commit({ ...adds("one") });
    database.exec(
      "CREATE TEMP TRIGGER full BEFORE UPDATE ON delivery BEGIN SELECT raise(ABORT, 'full'); END",
    );
    const failed = commit({ ...adds("two"), consumers: [consumer(5)] });
    expect(failed.claimed).toEqual([]);
    expect(failed.error?.failed).toContain("full");
    expect(failed.adds).toEqual([expect.any(Number)]);
    database.exec("DROP TRIGGER full");
    const later = writer.commitBatch([]);
    expect(idsOf(later)).toEqual(["one", "two"]);
    expect(writer.counts.get("a")?.[0]).toBe(2);
    writer.close();
    const again = open(path);
    expect(again.writer.counts.get("a")?.[0]).toBe(2);
    again.writer.close();
  });

  it("commit() hands out no more than there are places, and each to one workerId", () => {
    const path = newPath();
    const [one, other] = [open(path), open(path)];
    one.commit(adds("1", "2", "3", "4"));
    expect(idsOf(one.commit({ consumers: [consumer(2)] }))).toEqual(["1", "2"]);
    expect(idsOf(other.commit({ consumers: [consumer(1)] }))).toEqual(["3"]);
    expect(idsOf(other.commit({ consumers: [consumer(5)] }))).toEqual(["4"]);
    expect(idsOf(one.commit({ consumers: [consumer(0)] }))).toEqual([]);
    one.writer.close();
    other.writer.close();
  });

  it("commit() hands out a part of a backlog, the oldest first, and tells that more is due", () => {
    const { writer, commit } = open(newPath());
    const ids = Array.from({ length: 40 }, (_, index) => `${index}`);
    commit(adds(...ids));
    const first = commit({ consumers: [consumer(100)] });
    expect(idsOf(first)).toEqual(ids.slice(0, 32));
    expect(first.due).toEqual([{ consumer: 1, at: now }]);
    const second = commit({ ...adds("new"), consumers: [consumer(0)] });
    expect(second.claimed).toHaveLength(9);
    expect(idsOf(second).slice(0, 8)).toEqual(ids.slice(32));
    expect(second.due).toEqual([{ consumer: 1, at: null }]);
    writer.close();
  });

  it("commit() hands out more than comes to wait, or a backlog would stay", () => {
    const { writer, commit } = open(newPath());
    const many = (of: string): string[] => Array.from({ length: 50 }, (_, n) => `${of}${n}`);
    commit(adds(...many("a"), ...many("b")));
    commit({ consumers: [consumer(200)] });
    const { claimed, due } = commit({ ...adds(...many("c")), consumers: [consumer(0)] });
    expect(claimed).toHaveLength(100);
    expect(due).toEqual([{ consumer: 1, at: now }]);
    writer.close();
  });

  it("commit() hands out nothing for places that were withdrawn", () => {
    const { writer, commit } = open(newPath());
    commit({ consumers: [consumer(5)] });
    expect(commit({ ...adds("1", "2"), consumers: [consumer(-4)] }).claimed).toHaveLength(1);
    expect(commit({ consumers: [consumer(-3)] }).claimed).toEqual([]);
    expect(idsOf(commit({ consumers: [consumer(3)] }))).toEqual([]);
    expect(idsOf(commit({ consumers: [consumer(1)] }))).toEqual(["2"]);
    writer.close();
  });

  it.each([
    ["is gone", () => {}],
    ["has a file in its place", (own: string) => writeFileSync(own, "")],
    ["is a link to itself", (own: string) => symlinkSync(own, own)],
  ])("commit() stores nothing that it refuses, when its folder %s", (_what, replace) => {
    const own = mkdtempSync(join(folder, "own-"));
    const { writer, database, commit } = open(join(own, "inbox.db"));
    commit(held("1"));
    renameSync(own, `${own}-away`);
    replace(own);
    expect(commit(held("2")).adds).toMatchObject([{ code: "inbox_failed" }]);
    expect(commit(held("3")).adds).toMatchObject([{ code: "inbox_failed" }]);
    expect(database.prepare("SELECT id FROM delivery").all()).toEqual([{ id: "1" }]);
    rmSync(own, { force: true });
    renameSync(`${own}-away`, own);
    expect(commit(held("4")).adds).toEqual([2]);
    writer.close();
  });

  it("commit() counts a large body as several places, read or just stored", () => {
    const { writer, commit } = open(newPath());
    const bytes = new Uint8Array(200 * 1_024);
    const large = (id: string) => ({ adds: [alike([id], { bodyBytes: bytes.length })], bytes });
    for (const id of ["1", "2", "3"]) commit(large(id));
    const read = commit({ consumers: [consumer(5)] });
    expect(read.claimed).toMatchObject([{ cost: 4 }, { cost: 4 }]);
    expect(read.due).toEqual([]);
    expect(commit({ consumers: [consumer(5)] }).claimed).toMatchObject([{ cost: 4 }]);
    expect(commit({ ...large("4"), consumers: [consumer(5)] }).claimed).toMatchObject([
      { cost: 4 },
    ]);
    writer.close();
  });

  it("commit() takes back what an workerId had whose beat stands still, and nothing before", () => {
    const path = newPath();
    const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
    const [one, other] = [open(path, mine), open(path, theirs)];
    one.commit(adds("1"));
    const { claimed, workerId } = one.commit({ consumers: [consumer(1)] });
    const [first] = claimed as [Claimed];
    other.commit({ consumers: [consumer(1)] });
    for (theirs.ms = heartbeatMs; theirs.ms < 4 * leaseLostAfterMs; theirs.ms += heartbeatMs) {
      mine.ms = theirs.ms;
      expect(one.writer.needsUpkeep).toBe(true);
      one.writer.commitBatch([]);
      expect(idsOf(other.writer.commitBatch([]))).toEqual([]);
    }
    const stillAt = theirs.ms;
    const looks: unknown[][] = [];
    while (looks.flat().length === 0) {
      looks.push(idsOf(other.writer.commitBatch([])));
      theirs.ms += heartbeatMs;
    }
    expect(theirs.ms - stillAt).toBeGreaterThanOrEqual(leaseLostAfterMs - heartbeatMs);
    expect(looks.flat()).toEqual(["1"]);

    mine.ms = theirs.ms;
    expect(one.commit({ completions: [verified(first, workerId)] }).completions).toEqual([false]);
    expect(one.writer.counts.get("a")?.[0]).toBe(1);
    other.writer.close();
    one.writer.close();
  });

  it("commit() tells an workerId that stood still that its leases are lost", () => {
    const path = newPath();
    const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
    const [one, other] = [open(path, mine), open(path, theirs)];
    one.commit(adds("1"));
    one.commit({ consumers: [consumer(1)] });
    other.commit({ consumers: [consumer(1)] });
    for (; theirs.ms < 3 * leaseLostAfterMs; theirs.ms += heartbeatMs) other.writer.commitBatch([]);
    mine.ms = theirs.ms;
    expect(one.writer.commitBatch([]).lost).toBe(true);
    expect(one.writer.commitBatch([]).lost).toBe(false);
    one.writer.close();
    other.writer.close();
  });

  it("commit() parks as poison what was begun five times and never recorded", () => {
    const path = newPath();
    open(path).commit(adds("1"));
    for (let start = 1; start <= 5; start++) {
      const time = { ms: 0 };
      const { writer, commit } = open(path, time);
      const at = now + start * 10 ** 9;
      let claimed = commit({ consumers: [{ ...consumer(1), now: at }] }).claimed;
      for (; claimed.length === 0; time.ms += heartbeatMs) {
        const told = { ...consumer(0), now: at + time.ms * 1_000 };
        claimed = [...writer.commitBatch([]).claimed, ...commit({ consumers: [told] }).claimed];
      }
      expect(claimed.length).toBe(1);
    }
    const time = { ms: 0 };
    const { writer, commit } = open(path, time);
    commit({ consumers: [consumer(1)] });
    let reply = writer.commitBatch([]);
    for (; reply.poisoned.length === 0; time.ms += heartbeatMs) reply = writer.commitBatch([]);
    expect(reply.poisoned).toMatchObject([{ receiver: "a", row: { id: "1", reason: "poison" } }]);
    expect(reply.claimed).toEqual([]);
    expect(writer.counts.get("a")).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    writer.close();
  });

  it("close() gives back what is leased, as if work on it had not begun", () => {
    const path = newPath();
    const one = open(path);
    one.commit(adds("1"));
    one.commit({ consumers: [consumer(1)] });
    one.writer.close();
    const other = open(path);
    const [claimed] = other.commit({ consumers: [consumer(1)] }).claimed;
    expect(claimed?.row).toMatchObject({ id: "1", starts: 1, attempts: 0 });
    other.writer.close();
  });

  it("commit() hands out a released one as it is now, although it was stored in the same turn", () => {
    const { writer, commit } = open(newPath());
    commit({ consumers: [handling(1)] });
    const release = { receiver: "a", reason: "unsigned", now } as const;
    const { claimed } = commit({
      ...{ ...held("1"), consumers: [handling(0)] },
      calls: [{ ask: "release", query: release, after: "" }],
    });
    expect(claimed.map(({ row }) => row)).toMatchObject([{ id: "1", released: 1, state: 1 }]);
    writer.close();
  });

  it("commit() strands nothing when not even its transaction can begin", () => {
    const path = newPath();
    let failures = 0;
    const { writer, commit } = open(path, { ms: 0 }, (sql) => {
      return sql === "BEGIN IMMEDIATE" && failures-- > 0;
    });
    commit({ consumers: [consumer(2)] });
    failures = 1;
    const { adds: stored, error, claimed } = commit({ ...adds("1"), consumers: [consumer(0)] });
    expect(error?.failed).toContain("out of order");
    expect(stored).toEqual([1]);
    expect([...claimed, ...writer.commitBatch([]).claimed].length).toBe(1);
    writer.close();
  });

  it("commit() drops what comes of a lease that was lost, although this process has it again", () => {
    const path = newPath();
    const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
    const [one, other] = [open(path, mine), open(path, theirs)];
    one.commit(adds("1"));
    const { claimed, workerId } = one.commit({ consumers: [consumer(1)] });
    const [first] = claimed as [Claimed];
    other.commit({ consumers: [consumer(0)] });
    for (; theirs.ms < 3 * leaseLostAfterMs; theirs.ms += heartbeatMs) other.writer.commitBatch([]);
    mine.ms = theirs.ms;
    const again = one.commit({ consumers: [consumer(1)] });
    expect(again.lost).toBe(true);
    const [second] = again.claimed as [Claimed];
    expect(second.seq).toBe(first.seq);
    expect(one.commit({ completions: [verified(first, workerId)] }).completions).toEqual([false]);
    expect(one.commit({ completions: [verified(second, again.workerId)] }).completions).toEqual([
      true,
    ]);
    one.writer.close();
    other.writer.close();
  });

  it("commit() leaves an workerId its leases, if it was itself that stood still", () => {
    const path = newPath();
    const time = { ms: 0 };
    const [one, other] = [open(path, time), open(path, time)];
    one.commit(adds("1"));
    one.commit({ consumers: [consumer(1)] });
    other.commit({ consumers: [consumer(1)] });
    for (; time.ms < 2 * leaseLostAfterMs; time.ms += heartbeatMs) {
      one.writer.commitBatch([]);
      other.writer.commitBatch([]);
    }
    time.ms += 2 * leaseLostAfterMs;
    expect(idsOf(other.writer.commitBatch([]))).toEqual([]);
    expect(one.writer.commitBatch([]).lost).toBe(false);
    one.writer.close();
    other.writer.close();
  });

  it("commit() gives no number twice, so that no key is taken for one that is gone", () => {
    const path = newPath();
    const [app, tool] = [open(path), open(path)];
    app.commit(held("1", "2", "3"));
    for (const id of ["1", "2", "3"])
      tool.commit({ calls: [{ ask: "discard", id, receiver: "a" }] });
    const [four, copy] = [adds("4"), adds("copy")];
    expect(app.commit(four).adds).toEqual([4]);
    expect(tool.commit({ adds: copy.adds, bytes: four.bytes }).adds).toEqual([
      { duplicateOf: "4" },
    ]);
    expect(app.commit({ adds: copy.adds, bytes: four.bytes }).adds).toEqual([{ duplicateOf: "4" }]);
    app.writer.close();
    tool.writer.close();
    const again = open(path);
    expect(again.commit({ adds: copy.adds, bytes: four.bytes }).adds).toEqual([
      { duplicateOf: "4" },
    ]);
    again.writer.close();
  });

  it("commit() knows nothing that was rolled back, even if the file could not be read then", () => {
    const path = newPath();
    let failing: string[] = [];
    const fails = (sql: string): boolean => {
      const isNext = failing[0] !== undefined && sql.startsWith(failing[0]);
      if (isNext) failing = failing.slice(1);
      return isNext;
    };
    const { writer, commit } = open(path, { ms: 0 }, fails);
    commit(adds("1"));
    failing = ["COMMIT", "SELECT receiver, kind"];
    const ofB = adds("2");
    expect(commit({ ...ofB, adds: ofB.adds.map((add) => of("b", add)) }).adds).toEqual([2]);
    expect(failing).toEqual([]);
    const ofC = adds("3");
    expect(commit({ ...ofC, adds: ofC.adds.map((add) => of("c", add)) }).adds).toEqual([3]);
    writer.close();
    const again = open(path);
    const list = (receiver: string): unknown =>
      again.commit({ calls: [{ ask: "list", query: { receiver } }] }).calls[0];
    for (const [receiver, id] of [
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ] as const) {
      expect(list(receiver)).toMatchObject({ value: [{ id }] });
      expect(again.writer.counts.get(receiver)?.[0]).toBe(1);
    }
    again.writer.close();
  });

  it("commit() reads a row that somebody has written nonsense into", () => {
    const { writer, database, commit } = open(newPath());
    commit(adds("1", "2", "3"));
    database.exec("UPDATE delivery SET headers = 'no', history = 'no' WHERE id = '1'");
    database.exec("UPDATE delivery SET headers = '1', history = '{}' WHERE id = '2'");
    const { claimed } = commit({ consumers: [consumer(3)] });
    const kept = claimed.map(({ row }) => keptOf(row ?? {}, "a"));
    expect(kept.map(({ headers, history }) => [headers, history])).toEqual([
      [{}, []],
      [{}, []],
      [{}, []],
    ]);
    writer.close();
  });
});
