import { ReporthookError } from "@reporthook/core";
import type { Retention } from "@reporthook/core/store";
import type { Operations, ThreadCall } from "../protocol/operations.ts";
import type { CallResult } from "../protocol/protocol.ts";
import { actStep, listActs } from "./admin/acts.ts";
import { eraseStep } from "./admin/erase.ts";
import { errorStep } from "./admin/error-steps.ts";
import { storedFacts } from "./admin/facts.ts";
import { foreseePruning, pruneStep } from "./admin/prune.ts";
import { Query } from "./admin/query.ts";
import { StoredRetention } from "./admin/stored-retention.ts";
import type { Consumers } from "./claim/consumers.ts";
import type { Deliveries } from "./deliveries.ts";
import { failureOf } from "./failures.ts";
import { keepTime } from "./lived.ts";
import { findNotes, keepNotes } from "./notes.ts";
import { RequestTable } from "./request-table.ts";

/** Carries out calls, each by the part of the writer that it is for. */
export class Calls {
  readonly #operations: Operations;

  /** `given` is written into the file; null keeps to the retention that is there. `probe` checks that the file can be written. */
  constructor(
    deliveries: Deliveries,
    consumers: Consumers,
    given: Retention | null,
    probe: () => void,
  ) {
    const { tables } = deliveries;
    const { receivers } = tables;
    const requests = new RequestTable(tables);
    const retention = new StoredRetention(tables, given);
    const query = new Query(deliveries);
    this.#operations = {
      health: probe,
      close: () => {},
      counts: () => {},
      receivers: () => receivers.select(undefined).map((id) => receivers.nameOf(id)),
      get: (id, receiver) => query.get(id, receiver),
      list: (asked, most) => query.list(asked, most),
      summary: (asked) => query.summary(asked),
      facts: (receiver) => storedFacts(tables, retention, receiver),
      notes: (receiver, prefix) => findNotes(tables, receiver, prefix),
      keepNotes: (receiver, notes) => keepNotes(tables, receiver, notes),
      act: (asked, from) => {
        consumers.invalidate();
        return actStep(deliveries, query, asked, from);
      },
      acts: (asked) => listActs(tables, asked),
      errors: (asked, from) => errorStep(tables, asked, from),
      erase: (asked, from) => {
        consumers.invalidate();
        return eraseStep(deliveries, asked, from);
      },
      prune: (now) => pruneStep(deliveries, requests, retention.read(), now),
      foresee: (now) => foreseePruning(tables, retention.read(), now),
      keepTime: (mark) => keepTime(tables, mark),
      "requests.add": (request) => requests.add(request),
      "requests.get": (id, receiver) => requests.get(id, receiver),
      "requests.replace": (read, next) => requests.replace(read, next),
      "requests.list": (asked) => requests.list(asked),
      "requests.due": (receiver, until, limit) => requests.due(receiver, until, limit),
    };
  }

  /** Carries out a call; returns its value, or its failure: a wrong request must not undo others. */
  answer({ ask, given }: ThreadCall, path: string): CallResult {
    const operation: (...given: never) => unknown = this.#operations[ask];
    try {
      return { value: operation(...(given as never)) };
    } catch (error) {
      if (error instanceof ReporthookError) return failureOf(error, path);
      throw error;
    }
  }
}
