import { wholeRejected } from "@reporthook/core/store";
import type { Statement } from "../../database/driver.ts";
import { retentionClass } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";

/** Their bytes are added up after so many, which takes about a millisecond. */
const between = 16;

/** Keeps the bodies and signatures of rejected deliveries within their bounds. */
export class RejectedBound {
  readonly #deliveries: Deliveries;
  readonly #beyond: Statement;
  readonly #newest: Statement;
  #since = between;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
    const whole = `FROM delivery INDEXED BY delivery_ended WHERE kept_as = ${retentionClass.wholeRejected} ORDER BY changed_at DESC`;
    this.#beyond = deliveries.tables.database.prepare(
      `SELECT seq ${whole} LIMIT 100 OFFSET ${wholeRejected.max}`,
    );
    this.#newest = deliveries.tables.database.prepare(
      `SELECT seq, length(body) AS bytes ${whole} LIMIT ${wholeRejected.max}`,
    );
  }

  /** Called for each rejected one. */
  keep(): void {
    for (const row of this.#beyond.all()) this.#deliveries.empty(row);
    if (++this.#since < between) return;
    this.#since = 0;
    let bytes = 0;
    for (const row of this.#newest.all()) {
      bytes += Number(row["bytes"]);
      if (bytes > wholeRejected.bytes) this.#deliveries.empty(row);
    }
  }
}
