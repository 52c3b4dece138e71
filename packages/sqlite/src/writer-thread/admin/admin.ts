import type { EntryDetails, ReleaseQuery, State } from "@reporthook/core";
import {
  dayMs,
  detailsOf,
  type Kept,
  leave,
  mostUnsigned,
  mustBeParked,
  mustBeReleasable,
  notFound,
  notWaiting,
  type Retention,
  record,
  rerun,
  states,
} from "@reporthook/core/store";
import type { Row, Statement, Value } from "../../database/driver.ts";
import { countsOf, kindOf } from "../../protocol/kinds.ts";
import { atOnce, type Pruned, type Released } from "../../protocol/protocol.ts";
import { queues } from "../../protocol/queues.ts";
import { changesOf, keptAs, keptOf } from "../../protocol/row.ts";
import type { Deliveries, Files } from "../deliveries.ts";
import { Look } from "./query.ts";

const mostRejected = 10_000;
/** Work that has ended the process so often is not begun again. */
const mostStarts = 5;

/** What a person does with deliveries, and what time does. */
export class Shelf {
  readonly #files: Files;
  readonly #deliveries: Deliveries;
  readonly #retention: readonly number[];
  readonly #find: Statement;
  readonly look: Look;
  readonly #reason: Statement;
  readonly #over: Statement;
  readonly #beyond: Statement;
  readonly #leased: Statement;
  readonly #delete: Statement;
  readonly #starts: Statement;

  constructor(files: Files, deliveries: Deliveries, { handledMs, parkedMs }: Retention) {
    this.#files = files;
    this.#deliveries = deliveries;
    // By the numbers of keptAs.
    this.#retention = [dayMs, dayMs, handledMs, parkedMs, dayMs, dayMs];
    const prepare = (sql: string): Statement => files.database.prepare(sql);
    this.#find = prepare(
      "SELECT * FROM delivery WHERE receiver = ? AND state IN (0, 1, 2, 3, 4, 5) AND id = ? LIMIT 1",
    );
    this.look = new Look(files);
    this.#reason = prepare(
      `SELECT * FROM delivery WHERE receiver = ? AND reason = ? AND id > ? AND queue IS NULL AND state IN (3, 5) ORDER BY id LIMIT ${atOnce}`,
    );
    this.#over = prepare(
      "SELECT seq, receiver, state, verification FROM delivery WHERE kept_as = ? AND ended_at < ? ORDER BY ended_at LIMIT ?",
    );
    this.#beyond = prepare(
      `SELECT seq, receiver, state, verification FROM delivery WHERE kept_as = ? ORDER BY ended_at DESC LIMIT ${atOnce} OFFSET ?`,
    );
    this.#leased = prepare("SELECT * FROM delivery WHERE receiver = ? AND queue = ? AND rank = ?");
    this.#delete = prepare("DELETE FROM delivery WHERE seq = ?");
    this.#starts = prepare("UPDATE delivery SET starts = ? WHERE seq = ?");
  }

  get(id: string, receiver: string | undefined): EntryDetails | null {
    const row = this.#row(id, receiver);
    return row === null ? null : detailsOf(this.#kept(row));
  }

  oldestWaiting(receiver: string): Date | null {
    const waiting = (["received", "verified"] as const).flatMap((state) =>
      this.look.list({ receiver, state, limit: 1 }),
    );
    const times = waiting.map(({ receivedAt }) => receivedAt.getTime());
    return times.length === 0 ? null : new Date(Math.min(...times));
  }

  /** Releases one, or the next of those parked for a reason: each once, although it may be parked again meanwhile. */
  release(query: ReleaseQuery, after: string): Released {
    const { receiver, now } = query;
    if ("reason" in query) {
      const rows = this.#files.receivers
        .chosen(receiver)
        .flatMap((number) => this.#reason.all(number, query.reason, after));
      for (const row of rows) this.#change(row, now, (kept) => rerun(kept, now));
      return { released: rows.length, last: String(rows.at(-1)?.["id"] ?? after) };
    }
    if ("retry" in query) return this.#retry(query.retry, receiver, now);
    const row = this.#mustFind(query.id, receiver);
    mustBeReleasable(this.#kept(row));
    this.#change(row, now, (kept) => rerun(kept, now));
    return { released: 1, last: query.id };
  }

  #retry(id: string, receiver: string, now: number): Released {
    const row = this.#mustFind(id, receiver);
    if (row["queue"] !== queues.verify.later && row["queue"] !== queues.handle.later) {
      throw notWaiting(id);
    }
    this.#change(row, now, (kept) => {
      kept.dueAt = now;
    });
    return { released: 1, last: id };
  }

  discard(id: string, receiver: string | undefined): void {
    const row = this.#mustFind(id, receiver);
    mustBeParked({ id, state: stateOf(row) });
    this.#remove(row);
  }

  /** Deletes the next of what is no longer kept; returns how many, and whether there are more. */
  prune(now: number): Pruned {
    let left = atOnce;
    for (const [kept, ms] of this.#retention.entries()) {
      const rows = left > 0 ? this.#over.all(kept, now - ms, left) : [];
      for (const row of rows) this.#remove(row);
      left -= rows.length;
    }
    const more = this.#files.window.prune(now, atOnce);
    return { pruned: atOnce - left, more: more || left === 0 };
  }

  /** Deletes the oldest beyond as many as are kept of what is kept as this. */
  bound(as: Value): void {
    if (as === keptAs.rejected) this.#boundRejected();
    if (as !== keptAs.unsignedHandled && as !== keptAs.unsignedDead) return;
    for (const row of this.#beyond.all(as, mostUnsigned)) this.#remove(row);
  }

  #boundRejected(): void {
    let rejected = 0;
    for (const numbers of this.#files.tally.numbers.values())
      rejected += countsOf(numbers).rejected;
    if (rejected <= mostRejected) return;
    const over = Math.min(rejected - mostRejected, atOnce);
    for (const row of this.#over.all(keptAs.rejected, Number.MAX_SAFE_INTEGER, over)) {
      this.#remove(row);
    }
  }

  /** Takes back what a dead owner had leased; returns those that are parked now. */
  takeBack(owner: number, nowOf: (receiver: string) => number): Row[] {
    const poisoned: Row[] = [];
    for (const row of this.#leasedBy(owner)) {
      const now = nowOf(this.#receiverOf(row));
      const starts = Number(row["starts"]);
      const isPoison = starts >= mostStarts;
      this.#change(row, now, (kept) => {
        if (isPoison) record(kept, poison(starts), now, now);
        // At moments of their own, so that none runs beside the one that ends the process every time.
        else if (starts > 1) kept.dueAt = now + Math.ceil(Math.random() * 1_000 * 2 ** starts);
      });
      if (isPoison) poisoned.push(this.#row(String(row["id"]), undefined) ?? row);
    }
    return poisoned;
  }

  /** Gives back what an owner that ends in peace had leased. */
  giveBack(owner: number, nowOf: (receiver: string) => number): void {
    for (const row of this.#leasedBy(owner)) {
      this.#change(row, nowOf(this.#receiverOf(row)), () => {});
      this.#starts.run(0, Number(row["seq"]));
    }
  }

  #kept(row: Row): Kept {
    return keptOf(row, this.#receiverOf(row));
  }

  #leasedBy(owner: number): Row[] {
    return this.#files.receivers
      .chosen(undefined)
      .flatMap((number) =>
        [queues.verify.leased, queues.handle.leased].flatMap((queue) =>
          this.#leased.all(number, queue, owner),
        ),
      );
  }

  #receiverOf(row: Row): string {
    return this.#files.receivers.nameOf(Number(row["receiver"]));
  }

  #change(row: Row, now: number, change: (kept: Kept) => void): void {
    const kept = this.#kept(row);
    const before = kindOf(kept);
    change(kept);
    this.#deliveries.change(Number(row["seq"]), changesOf(kept, now));
    this.#deliveries.recount(Number(row["receiver"]), before, kindOf(kept));
  }

  #remove(row: Row): void {
    const seq = Number(row["seq"]);
    const kept = {
      state: stateOf(row),
      giveWay: false,
      verification: row["verification"] as never,
    };
    this.#delete.run(seq);
    // What was handled stays a duplicate; anything else that is gone must not swallow its copy.
    if (kept.state !== "handled") this.#files.window.forget(seq);
    this.#files.tally.change(Number(row["receiver"]), kindOf(kept), -1);
  }

  #mustFind(id: string, receiver: string | undefined): Row {
    const row = this.#row(id, receiver);
    if (row !== null) return row;
    throw notFound(id);
  }

  #row(id: string, receiver: string | undefined): Row | null {
    for (const number of this.#files.receivers.chosen(receiver)) {
      const row = this.#find.get(number, id);
      if (row !== undefined) return row;
    }
    return null;
  }
}

/** The outcome of work that ended the process. */
function poison(starts: number): ReturnType<typeof leave<"dead">> {
  return leave(
    "dead",
    "poison",
    `Work on it began ${starts} times and each time the process ended. Mend what ends it, then release it.`,
  );
}

function stateOf(row: Row): State {
  return states[Number(row["state"])] as State;
}
