import type { Stage } from "@reporthook/core";
import { signatureLifetimeMs } from "@reporthook/core/store";
import type { Database, Row, Statement } from "../../database/driver.ts";
import { queues } from "../../protocol/queues.ts";

/** One receiver's deliveries of one stage, and who wants them. */
export interface Wanted {
  readonly receiver: number;
  readonly stage: Stage;
  /** How many. */
  readonly places: number;
  /** Milliseconds since the epoch, by the receiver's clock. */
  readonly now: number;
}

const promotedAtOnce = 500;

/**
 * Hands out what waits. To be verified: the newest first while its signature may be valid, then those that give way,
 * in the order in which they came due, then those past it. To be handled: in that order, too.
 */
export class Queue {
  readonly #promote: Statement;
  readonly #firstDue: Statement;
  readonly #byDue: Statement;
  readonly #newest: Statement;
  readonly #lease: Statement;
  readonly #leaseAndRead: Statement;

  constructor(database: Database) {
    this.#promote = database.prepare(
      `UPDATE delivery SET queue = ? + give_way, rank = CASE WHEN state = 0 AND give_way = 0 THEN received_at ELSE due_at END
       WHERE seq IN (SELECT seq FROM delivery WHERE receiver = ? AND queue = ? AND rank <= ? ORDER BY rank LIMIT ${promotedAtOnce})`,
    );
    this.#firstDue = database.prepare(
      "SELECT rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT 1",
    );
    this.#byDue = database.prepare(
      "SELECT seq, rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT ?",
    );
    this.#newest = database.prepare(
      "SELECT seq, rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank DESC, seq LIMIT ?",
    );
    const lease = "UPDATE delivery SET queue = ?, rank = ?, starts = starts + 1 WHERE seq = ?";
    this.#lease = database.prepare(lease);
    this.#leaseAndRead = database.prepare(`${lease} RETURNING *`);
  }

  /** The numbers of the next ones, in their order. */
  next({ receiver, stage, places, now }: Wanted): readonly number[] {
    const { first, yielding } = queues[stage];
    const isToVerify = stage === "verify";
    const select = isToVerify ? this.#newest : this.#byDue;
    const rows = select.all(receiver, first, places);
    const isPast = (row: Row): boolean =>
      isToVerify && now - Number(row["rank"]) >= signatureLifetimeMs;
    const young = rows.filter((row) => !isPast(row));
    if (young.length === places) return seqs(young);
    const polite = this.#byDue.all(receiver, yielding, places - young.length);
    return seqs([...young, ...polite, ...rows.filter(isPast)].slice(0, places));
  }

  /** Lets those wait no longer that have come due; returns when the next one does, or null. */
  promote({ receiver, stage, now }: Wanted): number | null {
    const { later, first } = queues[stage];
    const dueAt = this.#firstDueAt(receiver, later);
    if (dueAt === null || dueAt > now) return dueAt;
    this.#promote.run(first, receiver, later, now);
    return this.#firstDueAt(receiver, later);
  }

  /** Leases one to an owner. */
  lease(seq: number, stage: Stage, owner: number): void {
    this.#lease.run(queues[stage].leased, owner, seq);
  }

  /** Leases one to an owner; returns all its columns. */
  leaseAndRead(seq: number, stage: Stage, owner: number): Row {
    return this.#leaseAndRead.get(queues[stage].leased, owner, seq) ?? {};
  }

  #firstDueAt(receiver: number, later: number): number | null {
    const row = this.#firstDue.get(receiver, later);
    return row === undefined ? null : Number(row["rank"]);
  }
}

function seqs(rows: readonly Row[]): number[] {
  return rows.map(({ seq }) => Number(seq));
}
