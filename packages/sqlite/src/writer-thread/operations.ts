import { type Retention, requestStates, states } from "@reporthook/core/store";
import { countsIn } from "../protocol/counts.ts";
import type { Operations } from "../protocol/operations.ts";
import { actStep, listActs } from "./admin/acts.ts";
import { eraseStep } from "./admin/erase.ts";
import { errorStep } from "./admin/error-steps.ts";
import { storedFacts } from "./admin/facts.ts";
import { foreseePruning, pruneStep } from "./admin/prune.ts";
import { Query } from "./admin/query.ts";
import { storedRetention } from "./admin/stored-retention.ts";
import type { Claimer } from "./claim/claimer.ts";
import type { Deliveries } from "./deliveries.ts";
import { keepTime } from "./lived.ts";
import { findNotes, keepNotes } from "./notes.ts";
import { RequestTable } from "./request-table.ts";

/**
 * The operations of a writer, each by the part that it is for. `given` is written into the file; null keeps to the retention that is
 * there. `check` finds out whether the file can be written.
 */
export function operationsOf(
  deliveries: Deliveries,
  claimer: Claimer,
  given: Retention | null,
  check: () => void,
): Operations {
  const { receivers } = deliveries;
  const query = new Query(deliveries);
  const requests = new RequestTable(deliveries);
  const retention = storedRetention(deliveries, given);
  return {
    health: check,
    close: () => {},
    counts: (receiver) => countsIn(receivers.tallyOf(receiver), states),
    receivers: () => receivers.select(undefined).map((id) => receivers.nameOf(id)),
    get: (id, receiver) => query.get(id, receiver),
    list: (asked, from) => query.list(asked, from),
    summary: (asked) => query.summary(asked),
    facts: (receiver) => storedFacts(deliveries, retention, receiver),
    notes: (receiver, prefix) => findNotes(deliveries, receiver, prefix),
    keepNotes: (receiver, notes) => keepNotes(deliveries, receiver, notes),
    act: (asked, from) => {
      claimer.invalidate();
      return actStep(deliveries, query, asked, from);
    },
    acts: (asked) => listActs(deliveries, asked),
    errors: (asked, from) => errorStep(deliveries, asked, from),
    erase: (asked, from) => {
      claimer.invalidate();
      return eraseStep(deliveries, asked, from);
    },
    prune: (now) => pruneStep(deliveries, requests, retention(), now),
    foresee: (now) => foreseePruning(deliveries, retention(), now),
    keepTime: (mark) => keepTime(deliveries, mark),
    "requests.add": (request) => requests.add(request),
    "requests.get": (id, receiver) => requests.get(id, receiver),
    "requests.replace": (read, next) => requests.replace(read, next),
    "requests.list": (asked) => requests.list(asked),
    "requests.counts": (receiver) =>
      countsIn(receivers.tallyOf(receiver), [...requestStates, "overdue"], "request:"),
    "requests.due": (receiver, until, limit) => requests.due(receiver, until, limit),
  };
}
