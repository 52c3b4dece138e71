import type { Parked } from "@reporthook/core";
import { applyOutcome, maxUnsigned, park, wholeRejected } from "@reporthook/core/store";
import type { Row, Value } from "../../database/driver.ts";
import { countsByState, sumOfCounts } from "../../protocol/counts.ts";
import { queues } from "../../protocol/position.ts";
import { type Reply, rowsPerStep } from "../../protocol/protocol.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Consumers } from "../claim/consumers.ts";
import { type Deliveries, removedColumns } from "../deliveries.ts";

const maxRejected = 10_000;
/** The bytes of rejected ones are added up, which takes about a millisecond, after so many: other processes add to them, too. */
const betweenSums = 16;
/** The number of starts without a recorded outcome after which a delivery is parked as poison. */
const maxStarts = 5;

/** Keeps deliveries within their bounds as others come, and requeues those that workers had leased. */
export class Maintenance {
  readonly #deliveries: Deliveries;
  #sinceSum = betweenSums;
  /** Their bytes then, and those that were added here since. */
  #rejectedBytes = 0;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  /** Called with the retention class of each recorded delivery: deletes or empties the oldest ones beyond the bounds of that. */
  bound(seq: number, stored: Value): void {
    const { statement } = this.#deliveries.tables;
    if (stored === retentionClass.wholeRejected) {
      this.#emptyRejected(seq);
      this.#deleteRejected();
    }
    if (stored !== retentionClass.unsignedHandled && stored !== retentionClass.unsignedDead) return;
    const beyond = statement(
      `SELECT ${removedColumns} FROM delivery
       WHERE kept_as = ? ORDER BY changed_at DESC LIMIT ${rowsPerStep} OFFSET ?`,
    );
    for (const row of beyond.all(stored, maxUnsigned)) this.#deliveries.remove(row);
  }

  #emptyRejected(seq: number): void {
    const { statement } = this.#deliveries.tables;
    const whole = `FROM delivery INDEXED BY delivery_ended
      WHERE kept_as = ${retentionClass.wholeRejected} ORDER BY changed_at DESC`;
    const beyond = statement(`SELECT seq ${whole} LIMIT 100 OFFSET ${wholeRejected.max}`);
    for (const row of beyond.all()) this.#deliveries.empty(row);
    const added = statement("SELECT length(body) AS bytes FROM delivery WHERE seq = ?").get(seq);
    this.#rejectedBytes += Number(added?.["bytes"]);
    if (++this.#sinceSum < betweenSums && this.#rejectedBytes <= wholeRejected.bytes) return;
    this.#sinceSum = 0;
    const newest = statement(
      `SELECT seq, length(body) AS bytes ${whole} LIMIT ${wholeRejected.max}`,
    );
    let bytes = 0;
    for (const row of newest.all()) {
      bytes += Number(row["bytes"]);
      if (bytes > wholeRejected.bytes) this.#deliveries.empty(row);
      else this.#rejectedBytes = bytes;
    }
  }

  #deleteRejected(): void {
    const { counters, statement } = this.#deliveries.tables;
    const { rejected } = countsByState(sumOfCounts(counters.counts.values()));
    if (rejected <= maxRejected) return;
    const oldest = statement(
      `SELECT ${removedColumns} FROM delivery WHERE kept_as = ? ORDER BY changed_at LIMIT ?`,
    );
    const limit = Math.min(rejected - maxRejected, rowsPerStep);
    for (const row of oldest.all(retentionClass.rejected, limit)) this.#deliveries.remove(row);
  }

  /** Requeues the deliveries of a dead worker; returns how many, and those that are parked instead. */
  rescue(
    workerId: number,
    consumers: Consumers,
  ): { readonly deliveries: number; readonly poisoned: Reply["poisoned"] } {
    const rows = this.#leasedTo(workerId);
    const poisoned = rows.flatMap((row) => {
      const moment = consumers.momentOf(this.#receiverOf(row));
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
  requeue(workerId: number, consumers: Consumers): void {
    for (const row of this.#leasedTo(workerId)) {
      const { now } = consumers.momentOf(this.#receiverOf(row));
      this.#deliveries.edit(row, now, () => {});
      this.#deliveries.forgetStarts(row);
    }
  }

  #leasedTo(workerId: number): Row[] {
    const { receivers, statement } = this.#deliveries.tables;
    const leased = statement(
      "SELECT * FROM delivery WHERE receiver = ? AND queue = ? AND rank = ?",
    );
    return receivers
      .select(undefined)
      .flatMap((receiver) =>
        [queues.verify.leased, queues.handle.leased].flatMap((queue) =>
          leased.all(receiver, queue, workerId),
        ),
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
