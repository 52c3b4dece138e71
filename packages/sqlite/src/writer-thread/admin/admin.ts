import type { ActQuery, EntryDetails } from "@reporthook/core";
import { ActCount, changeFor, detailsOf, selectorOf } from "@reporthook/core/store";
import type { Row, Statement } from "../../database/driver.ts";
import { isLeased } from "../../protocol/position.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import type { StepOfAct } from "../../protocol/steps.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Lived } from "../lived.ts";
import type { Acts } from "./acts.ts";
import type { Query } from "./query.ts";

/** The look at one delivery, and the acts of operators. */
export class Admin {
  readonly #deliveries: Deliveries;
  readonly #query: Query;
  readonly #lived: Lived;
  readonly #acts: Acts;
  readonly #find: Statement;

  constructor(deliveries: Deliveries, query: Query, lived: Lived, acts: Acts) {
    this.#acts = acts;
    this.#deliveries = deliveries;
    this.#query = query;
    this.#lived = lived;
    this.#find = deliveries.tables.database.prepare(
      "SELECT * FROM delivery WHERE receiver = ? AND state IN (0, 1, 2, 3, 4, 5) AND id = ? LIMIT 1",
    );
  }

  get(id: string, receiver: string | undefined): EntryDetails | null {
    for (const number of this.#deliveries.tables.receivers.select(receiver)) {
      const row = this.#find.get(number, id);
      if (row === undefined) continue;
      return detailsOf(this.#deliveries.storedDeliveryOf(row), this.#lived.wallOffset);
    }
    return null;
  }

  /**
   * Acts on the next entries with ids beyond `after`: each once, even if it is parked again meanwhile. `number` is that of the act
   * in the log, null at first.
   */
  act(query: ActQuery, after: string, number: number | null): StepOfAct {
    const rows = this.#query.candidates(query, after);
    const isSelected = selectorOf(query);
    const step = new ActCount();
    for (const row of rows) {
      const stored = this.#deliveries.storedDeliveryOf(row);
      if (!isSelected(stored) || (query.act === "retry" && isLeased(row["queue"]))) continue;
      step.add(stored);
      if (query.dryRun !== true) this.#change(row, query);
    }
    const last = rows.length < rowsPerStep ? null : String(rows.at(-1)?.["id"]);
    const logged = query.dryRun === true ? null : this.#acts.add(query, step.total, number);
    return { counts: step.counts, changedAt: step.changedAt, last, number: logged };
  }

  #change(row: Row, query: ActQuery): void {
    const { act, now } = query;
    if (act === "discard") {
      this.#deliveries.remove(row);
      return;
    }
    this.#deliveries.edit(row, now, (stored) => changeFor(query, stored));
    if (act === "release") this.#deliveries.forgetStarts(row);
  }
}
