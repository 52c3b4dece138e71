import { wholeRejected } from "@reporthook/core/store";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";

/** Their bytes are added up after so many, which takes about a millisecond. */
const between = 16;

const whole = `FROM delivery INDEXED BY delivery_ended
  WHERE kept_as = ${retentionClass.wholeRejected} ORDER BY changed_at DESC`;

/** Keeps the bodies and signatures of rejected deliveries within their bounds. */
export class RejectedBound {
  readonly #deliveries: Deliveries;
  #since = between;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  /** Called for each rejected one. */
  keep(): void {
    const { statement } = this.#deliveries.tables;
    const beyond = statement(`SELECT seq ${whole} LIMIT 100 OFFSET ${wholeRejected.max}`);
    for (const row of beyond.all()) this.#deliveries.empty(row);
    if (++this.#since < between) return;
    this.#since = 0;
    const newest = statement(
      `SELECT seq, length(body) AS bytes ${whole} LIMIT ${wholeRejected.max}`,
    );
    let bytes = 0;
    for (const row of newest.all()) {
      bytes += Number(row["bytes"]);
      if (bytes > wholeRejected.bytes) this.#deliveries.empty(row);
    }
  }
}
