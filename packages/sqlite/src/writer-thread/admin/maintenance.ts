import type { Parked } from "@reporthook/core";
import {
  applyOutcome,
  dayMs,
  type LivedMoment,
  maxUnsigned,
  park,
  type Retention,
} from "@reporthook/core/store";
import type { Row, Statement, Value } from "../../database/driver.ts";
import { countsByState, sumOfCounts } from "../../protocol/counts.ts";
import { type Claims, type PruneStep, rowsPerStep } from "../../protocol/protocol.ts";
import { queues } from "../../protocol/queues.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";

const maxRejected = 10_000;
/** The number of starts without a recorded outcome after which a delivery is parked as poison. */
const maxStarts = 5;

/** Periodic maintenance: deletes deliveries whose retention is over, and rescues those that dead workers had leased. */
export class Maintenance {
  readonly #deliveries: Deliveries;
  readonly #retention: readonly number[];
  readonly #over: Statement;
  readonly #beyond: Statement;
  readonly #leased: Statement;

  constructor(deliveries: Deliveries, { handledMs, parkedMs }: Retention) {
    this.#deliveries = deliveries;
    // By the numbers of retentionClass.
    this.#retention = [dayMs, dayMs, handledMs, parkedMs, dayMs, dayMs];
    const prepare = (sql: string): Statement => deliveries.tables.database.prepare(sql);
    const ended =
      "SELECT seq, receiver, state, verification, context FROM delivery WHERE kept_as = ?";
    this.#over = prepare(`${ended} AND changed_at < ? ORDER BY changed_at LIMIT ?`);
    this.#beyond = prepare(`${ended} ORDER BY changed_at DESC LIMIT ${rowsPerStep} OFFSET ?`);
    this.#leased = prepare("SELECT * FROM delivery WHERE receiver = ? AND queue = ? AND rank = ?");
  }

  /** Deletes one step of deliveries whose retention is over. */
  prune(now: number): PruneStep {
    let left = rowsPerStep;
    for (const [stored, ms] of this.#retention.entries()) {
      const rows = left > 0 ? this.#over.all(stored, now - ms, left) : [];
      for (const row of rows) this.#deliveries.remove(row);
      left -= rows.length;
    }
    const more = this.#deliveries.tables.window.prune(now, rowsPerStep);
    return { pruned: rowsPerStep - left, more: more || left === 0 };
  }

  /** Deletes the oldest deliveries of this retention class beyond its maximum. */
  bound(stored: Value): void {
    if (stored === retentionClass.rejected) this.#boundRejected();
    if (stored !== retentionClass.unsignedHandled && stored !== retentionClass.unsignedDead) return;
    for (const row of this.#beyond.all(stored, maxUnsigned)) this.#deliveries.remove(row);
  }

  #boundRejected(): void {
    const { rejected } = countsByState(
      sumOfCounts(this.#deliveries.tables.counters.counts.values()),
    );
    if (rejected <= maxRejected) return;
    const limit = Math.min(rejected - maxRejected, rowsPerStep);
    for (const row of this.#over.all(retentionClass.rejected, Number.MAX_SAFE_INTEGER, limit)) {
      this.#deliveries.remove(row);
    }
  }

  /** Requeues the deliveries of a dead worker; returns how many, and those that are parked instead. */
  rescue(
    workerId: number,
    momentOf: (receiver: string) => LivedMoment,
  ): { readonly deliveries: number; readonly poisoned: Claims["poisoned"] } {
    const rows = this.#leasedTo(workerId);
    const poisoned = rows.flatMap((row) => {
      const moment = momentOf(this.#receiverOf(row));
      const { now } = moment;
      const starts = Number(row["starts"]);
      const isPoison = starts >= maxStarts;
      const edited = this.#deliveries.edit(row, now, (stored) => {
        if (isPoison) applyOutcome(stored, poison(starts), now, moment);
        // Each at another time, so that none runs beside the one that crashes the process.
        else if (starts > 1) stored.dueAt = now + Math.ceil(Math.random() * 1_000 * 2 ** starts);
      });
      return isPoison ? [edited] : [];
    });
    return { deliveries: rows.length, poisoned };
  }

  /** Requeues the deliveries of a worker that ends regularly, as if their work had not begun. */
  requeue(workerId: number, momentOf: (receiver: string) => LivedMoment): void {
    for (const row of this.#leasedTo(workerId)) {
      const { now } = momentOf(this.#receiverOf(row));
      this.#deliveries.edit(row, now, () => {});
      this.#deliveries.forgetStarts(row);
    }
  }

  #leasedTo(workerId: number): Row[] {
    const leased = [queues.verify.leased, queues.handle.leased];
    return this.#deliveries.tables.receivers
      .select(undefined)
      .flatMap((receiver) =>
        leased.flatMap((queue) => this.#leased.all(receiver, queue, workerId)),
      );
  }

  #receiverOf(row: Row): string {
    return this.#deliveries.tables.receivers.nameOf(Number(row["receiver"]));
  }
}

function poison(starts: number): Parked {
  return park(
    "dead",
    "poison",
    `The process ended ${starts} times while it processed this delivery. Fix the cause, then release it.`,
  );
}
