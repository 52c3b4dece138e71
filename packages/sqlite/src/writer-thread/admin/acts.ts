import type { ActQuery } from "@reporthook/core";
import { ActCount, changeFor, selectorOf } from "@reporthook/core/store";
import type { Row } from "../../database/driver.ts";
import { isLeased } from "../../protocol/position.ts";
import { rowsPerStep } from "../../protocol/protocol.ts";
import type { ActPosition, StepOfAct } from "../../protocol/steps.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Query } from "./query.ts";
import { logAct } from "./stored-acts.ts";

/** One step of an act, from a position on, null at first. It acts on each entry once, even if that is parked again meanwhile. */
export function actStep(
  deliveries: Deliveries,
  query: Query,
  asked: ActQuery,
  from: ActPosition | null,
): StepOfAct {
  const { id, number } = from ?? { id: "", number: null };
  const isDry = asked.dryRun === true;
  const rows = query.candidates(asked, id);
  const isSelected = selectorOf(asked);
  const step = new ActCount();
  for (const row of rows) {
    const stored = deliveries.storedDeliveryOf(row);
    if (!isSelected(stored) || (asked.act === "retry" && isLeased(row["queue"]))) continue;
    step.add(stored);
    if (!isDry) act(deliveries, asked, row);
  }
  const logged = isDry ? null : logAct(deliveries.tables, asked, step.total, number);
  const isEnd = rows.length < rowsPerStep;
  const next = isEnd ? null : { id: String(rows.at(-1)?.["id"]), number: logged };
  return { counts: step.counts, changedAt: step.changedAt, next };
}

function act(deliveries: Deliveries, asked: ActQuery, row: Row): void {
  if (asked.act === "discard") {
    deliveries.remove(row);
    return;
  }
  deliveries.edit(row, asked.now, (stored) => changeFor(asked, stored));
  if (asked.act === "release") deliveries.forgetStarts(row);
}
