import { maxUnsigned, wholeRejected } from "@reporthook/core/store";
import type { Value } from "../../database/driver.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import { retentionClass } from "../../protocol/row.ts";
import { type Deliveries, removedColumns } from "../deliveries.ts";

const maxRejected = 10_000;
/** The bytes of rejected ones are added up, which takes about a millisecond, after so many: other processes add to them, too. */
const betweenSums = 16;
const emptied = `signature = NULL, kept_as = ${retentionClass.rejected}`;

/** Keeps rejected and unsigned deliveries within their bounds as others come. */
export class Bounds {
  readonly #deliveries: Deliveries;
  #sinceSum = betweenSums;
  /** Their bytes then, and those that were added here since. */
  #rejectedBytes = 0;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  /** Called with the retention class of each recorded delivery: deletes or empties the oldest ones beyond the bounds of that. */
  keep(seq: number, stored: Value): void {
    const { statement } = this.#deliveries;
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
    const { statement } = this.#deliveries;
    const whole = `FROM delivery INDEXED BY delivery_ended
      WHERE kept_as = ${retentionClass.wholeRejected} ORDER BY changed_at DESC`;
    const beyond = statement(`SELECT seq ${whole} LIMIT 100 OFFSET ${wholeRejected.max}`);
    for (const row of beyond.all()) this.#deliveries.drop(row, emptied);
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
      if (bytes > wholeRejected.bytes) this.#deliveries.drop(row, emptied);
      else this.#rejectedBytes = bytes;
    }
  }

  #deleteRejected(): void {
    const { receivers, statement } = this.#deliveries;
    const { rejected = 0 } = receivers.tallyOf(undefined);
    if (rejected <= maxRejected) return;
    const oldest = statement(
      `SELECT ${removedColumns} FROM delivery WHERE kept_as = ? ORDER BY changed_at LIMIT ?`,
    );
    const limit = Math.min(rejected - maxRejected, rowsPerStep);
    for (const row of oldest.all(retentionClass.rejected, limit)) this.#deliveries.remove(row);
  }
}
