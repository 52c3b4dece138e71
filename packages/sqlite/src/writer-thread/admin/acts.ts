import type { ActQuery } from "@reporthook/core";
import { ActCount, changeFor, selectorOf } from "@reporthook/core/store";
import type { Row } from "../../database/driver.ts";
import { isLeased } from "../../protocol/position.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import type { ActPosition, StepOfAct } from "../../protocol/steps.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Query } from "./query.ts";
import type { StoredActs } from "./stored-acts.ts";

/** Carries out the acts of people, step by step. */
export class Acts {
  readonly #deliveries: Deliveries;
  readonly #query: Query;
  readonly #log: StoredActs;

  constructor(deliveries: Deliveries, query: Query, log: StoredActs) {
    this.#deliveries = deliveries;
    this.#query = query;
    this.#log = log;
  }

  /** The next step from a position on, null at first. It acts on each entry once, even if that is parked again meanwhile. */
  next(query: ActQuery, from: ActPosition | null): StepOfAct {
    const { id, number } = from ?? { id: "", number: null };
    const isDry = query.dryRun === true;
    const rows = this.#query.candidates(query, id);
    const isSelected = selectorOf(query);
    const step = new ActCount();
    for (const row of rows) {
      const stored = this.#deliveries.storedDeliveryOf(row);
      if (!isSelected(stored) || (query.act === "retry" && isLeased(row["queue"]))) continue;
      step.add(stored);
      if (!isDry) this.#change(row, query);
    }
    const logged = isDry ? null : this.#log.add(query, step.total, number);
    const isEnd = rows.length < rowsPerStep;
    const next = isEnd ? null : { id: String(rows.at(-1)?.["id"]), number: logged };
    return { counts: step.counts, changedAt: step.changedAt, next };
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
