import type { Stage } from "@reporthook/core";
import { signatureLifetimeMs } from "@reporthook/core/store";
import type { Row } from "../../database/driver.ts";
import { queues } from "../../protocol/position.ts";
import type { ConsumerState } from "../../protocol/protocol.ts";
import type { Tables } from "../deliveries.ts";

/** The deliveries of one receiver that wait for one stage. */
export interface Waiting extends Pick<ConsumerState, "stage" | "now" | "knownSince"> {
  /** Its id. */
  readonly receiver: number;
}

const promotedAtOnce = 500;
/** Milliseconds in which a process that begins asks about what waits. */
const hastenedMs = 10_000;

/**
 * The order of claims. Order of verification: first the newest ones whose signatures may be valid, then deprioritized ones by
 * their last turn, then older ones. Order of handling: by due time.
 */
export class Queue {
  readonly #statement: Tables["statement"];

  constructor({ statement }: Tables) {
    this.#statement = statement;
  }

  /** The numbers of the next deliveries, at most `limit`, in their order. */
  next({ receiver, stage, now, knownSince }: Waiting, limit: number): readonly number[] {
    const inOrder = this.#statement(
      "SELECT seq, rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT ?",
    );
    if (stage === "handle") return seqs(inOrder.all(receiver, queues.handle.first, limit));
    const { first, inTurn } = queues.verify;
    const newest = this.#statement(
      "SELECT seq, rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank DESC, seq LIMIT ?",
    );
    const rows = newest.all(receiver, first, limit);
    const isPast = (row: Row): boolean =>
      now - Math.max(Number(row["rank"]), knownSince) >= signatureLifetimeMs;
    const young = rows.filter((row) => !isPast(row));
    if (young.length === limit) return seqs(young);
    const polite = inOrder.all(receiver, inTurn, limit - young.length);
    return seqs([...young, ...polite, ...rows.filter(isPast)].slice(0, limit));
  }

  /** Moves deliveries that have come due to the front queue; returns the next due time, Infinity if none waits for one. */
  promote({ receiver, stage, now }: Waiting): number {
    const { later, first } = queues[stage];
    const dueAt = this.#firstDueAt(receiver, later);
    if (dueAt > now) return dueAt;
    const promote = this.#statement(
      `UPDATE delivery SET queue = ? + (state = 0 AND last_turn_at IS NOT NULL), rank = CASE state WHEN 0 THEN coalesce(last_turn_at, arrived_at) ELSE due_at END
       WHERE seq IN (SELECT seq FROM delivery WHERE receiver = ? AND queue = ? AND rank <= ? ORDER BY rank LIMIT ${promotedAtOnce})`,
    );
    promote.run(first, receiver, later, now);
    return this.#firstDueAt(receiver, later);
  }

  /** Has what waits come due soon: nobody knows how much of its delay has passed between two processes. */
  hasten({ receiver, stage, now }: Waiting): void {
    const at = now + hastenedMs;
    const hasten = this.#statement(
      "UPDATE delivery SET rank = ?, due_at = ? WHERE receiver = ? AND queue = ? AND rank > ?",
    );
    hasten.run(at, at, receiver, queues[stage].later, at);
  }

  /** Leases a delivery to a worker; returns its row. */
  lease(seq: number, stage: Stage, workerId: number): Row {
    const lease = this.#statement(
      "UPDATE delivery SET queue = ?, rank = ?, starts = starts + 1 WHERE seq = ? RETURNING *",
    );
    return lease.get(queues[stage].leased, workerId, seq) ?? {};
  }

  #firstDueAt(receiver: number, later: number): number {
    const first = this.#statement(
      "SELECT rank FROM delivery WHERE receiver = ? AND queue = ? ORDER BY rank LIMIT 1",
    );
    const row = first.get(receiver, later);
    return row === undefined ? Infinity : Number(row["rank"]);
  }
}

function seqs(rows: readonly Row[]): number[] {
  return rows.map(({ seq }) => Number(seq));
}
