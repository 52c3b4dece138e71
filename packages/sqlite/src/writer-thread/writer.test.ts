import { lstatSync, type Stats } from "node:fs";
import { hostname } from "node:os";
import type { NewDelivery } from "@reporthook/core";
import { applyOutcome, newStoredDelivery, type StoredDelivery } from "@reporthook/core/store";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { watched } from "@reporthook/test-support/watched-database";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadDriver } from "../database/driver.ts";
import { FileGuard } from "../database/file-guard.ts";
import { prepareSchema } from "../database/schema.ts";
import { kindOf, usualKind } from "../protocol/counts.ts";
import { MessageBuilder } from "../protocol/message.ts";
import type { Claimed, Completion, ConsumerState, Message, Reply } from "../protocol/protocol.ts";
import { heartbeatMs, leaseLostAfterMs } from "../protocol/protocol.ts";
import { changesOf } from "../protocol/row.ts";
import { upkeepMs } from "./claim/leases.ts";
import { Writer } from "./writer.ts";

const now = 1_000_000;
const pulse = new SharedArrayBuffer(4);
/** Shows that the event loop of the main thread turns. */
const turn = (): unknown => Atomics.add(new Int32Array(pulse), 0, 1);
let made = 0;

/** Real time, as the writers of one test see it. */
interface Time {
  ms: number;
}

interface Opened {
  readonly writer: Writer;
  /** Ends it before the test does. */
  close(): void;
  commit(message?: Partial<Message>): Reply;
}

function open(
  path: string,
  time: Time = { ms: 0 },
  fails: (sql: string) => boolean = () => false,
  stat?: (path: string) => Stats | undefined,
  pulseOf = pulse,
): Opened {
  const database = watched(loadDriver().open(path), (sql, use) => {
    if (use !== "prepare" && fails(sql)) throw new Error("out of order");
  });
  database.exec("PRAGMA busy_timeout = 3000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  prepareSchema(database, path, true);
  const retention = { handledMs: 1, parkedMs: 1 };
  const writer = new Writer(
    database,
    new FileGuard(path, null, undefined, stat),
    { path, retention, migrate: true, pulse: pulseOf, descriptor: null },
    () => time.ms,
  );
  let isOpen = true;
  const close = (): void => {
    if (isOpen) writer.close();
    isOpen = false;
  };
  onTestFinished(close);
  const nothing = new MessageBuilder().encode([]);
  return {
    writer,
    close,
    commit: (message) => writer.commitBatch([{ ...nothing, ...message }]),
  };
}

/** Two writers on one file, each with its time; the first has leased a delivery, and the other takes as many as its credit. */
function pair(credit = 1) {
  const path = temporaryPath();
  const [mine, theirs] = [{ ms: 0 }, { ms: 0 }];
  const [one, other] = [open(path, mine), open(path, theirs)];
  one.commit(adds("1"));
  const { claimed, workerId } = one.commit({ consumers: [consumer(1)] });
  other.commit({ consumers: [consumer(credit)] });
  /** Has the time of the other pass so long that the leases of the first are lost. */
  const standStill = (): void => {
    for (; theirs.ms < 3 * leaseLostAfterMs; theirs.ms += heartbeatMs) other.writer.commitBatch([]);
    mine.ms = theirs.ms;
  };
  return { mine, theirs, one, other, first: claimed[0] as Claimed, workerId, standStill };
}

/** Signed deliveries, unlike all others. */
function adds(...ids: readonly string[]): Pick<Message, "adds" | "bytes"> {
  return addsOf(ids, {});
}

function addsOf(
  ids: readonly string[],
  parts: Partial<NewDelivery>,
): Pick<Message, "adds" | "bytes"> {
  return addsOfAll(ids.map((id) => signed({ id, ...parts })));
}

function addsOfAll(deliveries: readonly NewDelivery[]): Pick<Message, "adds" | "bytes"> {
  const additions = new MessageBuilder();
  for (const delivery of deliveries) additions.add(delivery, usualKind, null);
  const { adds, bytes } = additions.encode([]);
  return { adds, bytes };
}

/** A delivery with a new key. */
function signed(parts: Partial<NewDelivery>): NewDelivery {
  const key = Buffer.alloc(24);
  for (const half of [0, 12]) key.writeUInt32BE(++made, half);
  const sent = { receiver: "a", url: "/", context: null, headers: {}, body: new Uint8Array() };
  const received = { id: "1", receivedAt: now, arrivedAt: now, requestId: null };
  return { ...sent, ...received, key, signature: "s", ...parts };
}

const consumer = (credit: number): ConsumerState => ({
  consumer: 1,
  receiver: "a",
  stage: "verify",
  now,
  wallOffset: 0,
  knownSince: 0,
  credit,
  hasEnded: false,
});

function verified({ seq, stored: claimed }: Claimed, workerId: number | null): Completion {
  const stored = { ...claimed } as StoredDelivery;
  const kindBefore = kindOf(stored);
  const found = { type: "report.complete", reportId: "r" } as const;
  applyOutcome(stored, { to: "verified", verification: "valid", ...found }, now, {
    now,
    wallOffset: 0,
  });
  return {
    seq,
    stage: "verify",
    leasedTo: workerId ?? 0,
    receiver: "a",
    keepsLease: false,
    kindBefore,
    kindAfter: kindOf(stored),
    changes: changesOf(stored, now),
  };
}

const idsOf = (reply: Pick<Reply, "claimed">): unknown[] =>
  reply.claimed.map(({ stored }) => stored?.id);

describe("batches", () => {
  it("commitBatch() claims a part of a backlog, the oldest first, and tells that more is due", () => {
    const { commit } = open(temporaryPath());
    const ids = Array.from({ length: 40 }, (_, index) => `${index}`);
    commit(adds(...ids));
    const first = commit({ consumers: [consumer(100)] });
    expect(idsOf(first)).toEqual(ids.slice(0, 32));
    expect(first.due).toEqual([{ consumer: 1, at: -Infinity }]);
    const second = commit({ ...adds("new"), consumers: [consumer(0)] });
    // The delivery that has just come is the newest, and still in memory.
    expect(idsOf(second)).toEqual([undefined, ...ids.slice(32)]);
    expect(second.due).toEqual([{ consumer: 1, at: Infinity }]);
  });

  it("commitBatch() claims some of a backlog beside all that comes, or it would stay", () => {
    const { commit } = open(temporaryPath());
    const many = (of: string): string[] => Array.from({ length: 50 }, (_, n) => `${of}${n}`);
    commit(adds(...many("a"), ...many("b")));
    commit({ consumers: [consumer(200)] });
    const { claimed, due } = commit({ ...adds(...many("c")), consumers: [consumer(0)] });
    expect(idsOf({ claimed }).filter((id) => id === undefined)).toHaveLength(50);
    expect(claimed).toHaveLength(82);
    expect(due).toEqual([{ consumer: 1, at: -Infinity }]);
  });

  it("commitBatch() has a large body cost more credit, read or just stored", () => {
    const { commit } = open(temporaryPath());
    const large = (id: string) => addsOf([id], { body: new Uint8Array(200 * 1_024) });
    for (const id of ["1", "2", "3"]) commit(large(id));
    const read = commit({ consumers: [consumer(5)] });
    expect(read.claimed).toMatchObject([{ cost: 4 }, { cost: 4 }]);
    expect(read.due).toEqual([]);
    expect(commit({ consumers: [consumer(5)] }).claimed).toMatchObject([{ cost: 4 }]);
    expect(commit({ ...large("4"), consumers: [consumer(5)] }).claimed).toMatchObject([
      { cost: 4 },
    ]);
  });

  it("commitBatch() rescues the leases of a worker whose heartbeat stands still, and nothing before", () => {
    const { mine, theirs, one, other, first, workerId } = pair();
    for (theirs.ms = heartbeatMs; theirs.ms < 4 * leaseLostAfterMs; theirs.ms += heartbeatMs) {
      mine.ms = theirs.ms;
      turn();
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
    const late = one.commit({ completions: [verified(first, workerId)] });
    expect(late.completions).toEqual([false]);
    expect(late.tallies.get("a")?.["received"]).toBe(1);
  });

  it.each([true, false])(
    "commitBatch() offers its leases while the main thread stands still, and takes up those that nobody took: %s",
    (isTaken) => {
      const path = temporaryPath();
      const [one, other] = [open(path, { ms: 0 }), open(path, { ms: 0 })];
      one.commit(adds("1", "2"));
      const { claimed, workerId } = one.commit({ consumers: [consumer(1)] });
      const [first] = claimed as [Claimed];
      other.commit({ consumers: [consumer(2)] });
      one.writer.commitBatch([]);
      turn();
      let looks = 0;
      while (!one.writer.needsUpkeep) looks++;
      // Five seconds, and until then nothing is claimed: half a second each.
      expect(looks).toBe(10);
      expect(one.writer.commitBatch([])).toMatchObject({ claimed: [], lost: false });
      expect(one.writer.needsUpkeep).toBe(false);
      const process = `${globalThis.process.pid} on ${hostname()}`;
      if (isTaken) {
        turn();
        expect(other.writer.commitBatch([]).takeovers).toEqual([
          { process, deliveries: 1, silentMs: leaseLostAfterMs },
        ]);
      }
      turn();
      expect(one.writer.needsUpkeep).toBe(true);
      expect(one.writer.commitBatch([]).lost).toBe(isTaken);
      const { completions } = one.commit({ completions: [verified(first, workerId)] });
      expect(completions).toEqual([!isTaken]);
    },
  );

  it("commitBatch() takes the leases of a main thread that stands still within 15 seconds", () => {
    const [path, time] = [temporaryPath(), { ms: 0 }];
    const one = open(path, time, undefined, undefined, new SharedArrayBuffer(4));
    const other = open(path, time);
    one.commit(adds("1"));
    one.commit({ consumers: [consumer(1)] });
    other.commit({ consumers: [consumer(1)] });
    const taken: unknown[] = [];
    while (taken.length === 0) {
      time.ms += upkeepMs;
      if (one.writer.needsUpkeep) one.writer.commitBatch([]);
      turn();
      if (other.writer.needsUpkeep) taken.push(...idsOf(other.writer.commitBatch([])));
    }
    expect(taken).toEqual(["1"]);
    expect(time.ms).toBeLessThanOrEqual(15_000);
  });

  it("commitBatch() tells a worker that stood still that its leases are lost", () => {
    const { one, standStill } = pair();
    standStill();
    expect(one.writer.commitBatch([]).lost).toBe(true);
    expect(one.writer.commitBatch([]).lost).toBe(false);
  });

  it("commitBatch() tells of no lost leases where none was held", () => {
    const { one, first, workerId, standStill } = pair();
    one.commit({ completions: [verified(first, workerId)] });
    standStill();
    expect(one.writer.commitBatch([]).lost).toBe(false);
    const next = one.commit({ ...adds("2"), consumers: [consumer(1)] });
    expect(next.claimed).toHaveLength(1);
    expect(next.workerId).not.toBe(workerId);
  });

  it("commitBatch() parks as poison a delivery that was begun five times and never recorded", () => {
    const path = temporaryPath();
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
    expect(reply.poisoned).toMatchObject([{ receiver: "a", id: "1", reason: { code: "poison" } }]);
    expect(reply.claimed).toEqual([]);
    expect(reply.tallies.get("a")).toMatchObject({ received: 0, dead: 1 });

    // Released, it has five starts again.
    const query = { act: "release", receiver: "a", id: "1", now, by: null } as const;
    const release = { ask: "act", given: [query, null] } as const;
    expect(idsOf(commit({ calls: [release], consumers: [consumer(1)] }))).toEqual(["1"]);
    const later = { ms: 0 };
    const next = open(path, later);
    const at = (): number => now + 10 ** 9 + later.ms * 1_000;
    const claimed = [...next.commit({ consumers: [{ ...consumer(1), now: at() }] }).claimed];
    for (; claimed.length === 0; later.ms += heartbeatMs) {
      const { claimed: rescued, poisoned } = next.writer.commitBatch([]);
      expect(poisoned).toEqual([]);
      const told = { ...consumer(0), now: at() };
      claimed.push(...rescued, ...next.commit({ consumers: [told] }).claimed);
    }
    expect(idsOf({ claimed })).toEqual(["1"]);
  });

  it.each(["SELECT receiver, counts", "SELECT max(seq)", "PRAGMA data_version"])(
    "a writer knows what another process stores before %s",
    (first) => {
      const path = temporaryPath();
      const other = open(path);
      const key = Buffer.alloc(24, 7);
      let hasStored = false;
      const { writer, commit } = open(path, { ms: 0 }, (sql) => {
        if (hasStored || !sql.trimStart().startsWith(first)) return false;
        hasStored = true;
        other.commit(addsOf(["1"], { key }));
        return false;
      });
      expect(hasStored).toBe(true);
      expect(writer.takeTallies().get("a")?.["received"]).toBe(1);
      const [found] = commit({ calls: [{ ask: "get", given: ["1", "a"] }] }).calls;
      expect(found).toMatchObject({ value: { id: "1" } });
      expect(commit(addsOf(["copy"], { key })).adds).toEqual([{ duplicateOf: "1" }]);
      expect(commit(adds("2")).adds).toEqual([2]);
    },
  );

  it("commitBatch() tells that its leases are lost when the file is gone right after a commit", () => {
    const path = temporaryPath();
    let isMoved = (): boolean => false;
    const { commit } = open(path, { ms: 0 }, undefined, (file) => {
      if (file === path && isMoved()) return undefined;
      return lstatSync(file, { throwIfNoEntry: false });
    });
    commit(adds("1"));
    const { workerId } = commit({ consumers: [consumer(1)] });
    let looks = 0;
    isMoved = () => ++looks > 1;
    expect(commit(adds("2"))).toMatchObject({ lost: true, error: { code: "inbox_failed" } });
    isMoved = () => false;
    const next = commit({ ...adds("3"), consumers: [consumer(1)] });
    expect(next.lost).toBe(false);
    expect(next.workerId).not.toBe(workerId);
  });

  it("close() gives leases back, as if work on them had not begun", () => {
    const path = temporaryPath();
    const one = open(path);
    one.commit(adds("1"));
    one.commit({ consumers: [consumer(1)] });
    one.close();
    const other = open(path);
    const [claimed] = other.commit({ consumers: [consumer(1)] }).claimed;
    expect(claimed).toMatchObject({ stored: { id: "1", attempts: 0 }, isFirstStart: true });
  });

  it("commitBatch() strands nothing when not even its transaction can begin", () => {
    const path = temporaryPath();
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
  });

  it("commitBatch() drops the result of a lost lease, although this process has the delivery again", () => {
    const { one, first, workerId, standStill } = pair(0);
    standStill();
    const again = one.commit({ consumers: [consumer(1)] });
    expect(again.lost).toBe(true);
    const [second] = again.claimed as [Claimed];
    expect(second.seq).toBe(first.seq);
    expect(one.commit({ completions: [verified(first, workerId)] }).completions).toEqual([false]);
    expect(one.commit({ completions: [verified(second, again.workerId)] }).completions).toEqual([
      true,
    ]);
  });

  it("commitBatch() leaves another worker its leases, if it was itself that stood still", () => {
    const path = temporaryPath();
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
  });

  it("commitBatch() knows nothing that was rolled back, even if the file could not be read then", () => {
    const path = temporaryPath();
    let failing: string[] = [];
    const fails = (sql: string): boolean => {
      const isNext = failing[0] !== undefined && sql.startsWith(failing[0]);
      if (isNext) failing = failing.slice(1);
      return isNext;
    };
    const { commit, close } = open(path, { ms: 0 }, fails);
    commit(adds("1"));
    failing = ["COMMIT", "SELECT receiver, counts"];
    expect(commit(addsOf(["2"], { receiver: "b" })).adds).toEqual([2]);
    expect(failing).toEqual([]);
    expect(commit(addsOf(["3"], { receiver: "c" })).adds).toEqual([3]);
    close();
    const again = open(path);
    const counts = again.writer.takeTallies();
    const list = (receiver: string): unknown =>
      again.commit({ calls: [{ ask: "list", given: [{ receiver }, null] }] }).calls[0];
    for (const [receiver, id] of [
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ] as const) {
      expect(list(receiver)).toMatchObject({ value: { entries: [{ id }] } });
      expect(counts.get(receiver)?.["received"]).toBe(1);
    }
  });
});

describe("commitBatch() for many receivers", () => {
  /** The number of statements for 64 deliveries of so many receivers, and of consumers that are told their due time. */
  function costOf(receivers: number): { readonly statements: number; readonly told: number } {
    let statements = 0;
    const { commit } = open(temporaryPath(), { ms: 0 }, () => ++statements < 0);
    const names = Array.from({ length: receivers }, (_, at) => `${at}`);
    commit({
      consumers: names.map((receiver, at) => ({ ...consumer(64), consumer: at, receiver })),
    });
    statements = 0;
    const deliveries = Array.from({ length: 64 }, (_, at) =>
      signed({ id: `${at}`, receiver: `${at % receivers}` }),
    );
    const { claimed, workerId, due } = commit(addsOfAll(deliveries));
    const completions = claimed.map((one, at): Completion => {
      const delivery = deliveries[at] as NewDelivery;
      const stored = newStoredDelivery(delivery, { to: "received" }, null);
      return { ...verified({ ...one, stored }, workerId), receiver: delivery.receiver };
    });
    const reply = commit({ completions });
    expect(reply.completions).toEqual(new Array(64).fill(true));
    return { statements, told: due.length + reply.due.length };
  }

  it("a writer inserts and counts the deliveries of many receivers together, and tells no consumer what it knows", () => {
    const [one, ten, all] = [costOf(1), costOf(10), costOf(64)];
    expect(ten.statements).toBeLessThanOrEqual(one.statements + 64 / 8);
    expect(all.statements).toBeLessThanOrEqual(one.statements + 64 / 2);
    expect([one.told, ten.told, all.told]).toEqual([0, 0, 0]);
  });
});
