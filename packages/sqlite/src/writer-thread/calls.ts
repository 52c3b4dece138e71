import { ReporthookError } from "@reporthook/core";
import type { Retention } from "@reporthook/core/store";
import type { CallResult, ThreadCall } from "../protocol/protocol.ts";
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
import { Lived } from "./lived.ts";
import { findNotes, keepNotes } from "./notes.ts";
import { RequestTable } from "./request-table.ts";

/** Carries out calls, each by the part of the writer that it is for. */
export class Calls {
  readonly #deliveries: Deliveries;
  readonly #consumers: Consumers;
  readonly #probe: () => void;
  readonly #requests: RequestTable;
  readonly #retention: StoredRetention;
  readonly #lived: Lived;
  readonly #query: Query;

  /** `retention` is written into the file; null keeps to the one that is there. `probe` checks that the file can be written. */
  constructor(
    deliveries: Deliveries,
    consumers: Consumers,
    retention: Retention | null,
    probe: () => void,
  ) {
    this.#deliveries = deliveries;
    this.#consumers = consumers;
    this.#probe = probe;
    this.#requests = new RequestTable(deliveries.tables);
    this.#retention = new StoredRetention(deliveries.tables.database, retention);
    this.#lived = new Lived(deliveries.tables.database);
    this.#query = new Query(deliveries, this.#lived);
  }

  /** Carries out a call; returns its value, or its failure: a wrong request must not undo others. */
  answer(call: ThreadCall, path: string): CallResult {
    try {
      return { value: this.#carryOut(call) };
    } catch (error) {
      if (error instanceof ReporthookError) return failureOf(error, path);
      throw error;
    }
  }

  #carryOut(call: ThreadCall): unknown {
    const { tables } = this.#deliveries;
    switch (call.ask) {
      case "get":
        return this.#query.get(call.id, call.receiver);
      case "list":
        return this.#query.list(call.query, call.most);
      case "summary":
        return this.#query.summary(call.query);
      case "facts":
        return storedFacts(tables, this.#retention, call.receiver);
      case "receivers":
        return tables.receivers.select(undefined).map((id) => tables.receivers.nameOf(id));
      case "notes":
        return findNotes(tables, call.receiver, call.prefix);
      case "keepNotes":
        return keepNotes(tables, call.receiver, call.notes);
      case "act":
        this.#consumers.invalidate();
        return actStep(this.#deliveries, this.#query, call.query, call.from);
      case "acts":
        return listActs(tables, call.query);
      case "errors":
        return errorStep(tables, call.query, call.from);
      case "erase":
        this.#consumers.invalidate();
        return eraseStep(this.#deliveries, call.query, call.from);
      case "prune":
        return pruneStep(this.#deliveries, this.#requests, this.#retention.read(), call.now);
      case "foresee":
        return foreseePruning(tables, this.#retention.read(), call.now);
      case "keepTime":
        return this.#lived.keep(call.mark);
      case "requests":
        return this.#requests.answer(call);
      case "health":
        return this.#probe();
      case "close":
      case "counts":
        return undefined;
    }
  }
}
