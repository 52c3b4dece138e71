import { ReporthookError } from "@reporthook/core";
import type { CallResult, ThreadCall } from "../protocol/protocol.ts";
import { Acts } from "./admin/acts.ts";
import { Eraser } from "./admin/erase.ts";
import { ErrorSteps } from "./admin/error-steps.ts";
import { StoredFacts } from "./admin/facts.ts";
import type { Maintenance } from "./admin/maintenance.ts";
import { Query } from "./admin/query.ts";
import { StoredActs } from "./admin/stored-acts.ts";
import type { Consumers } from "./claim/consumers.ts";
import type { Deliveries } from "./deliveries.ts";
import { failureOf } from "./failures.ts";
import { Lived } from "./lived.ts";
import { StoredNotes } from "./notes.ts";
import type { RequestTable } from "./request-table.ts";

/** Carries out calls, each by the part of the writer that it is for. */
export class Calls {
  readonly #maintenance: Maintenance;
  readonly #requests: RequestTable;
  readonly #consumers: Consumers;
  readonly #probe: () => void;
  readonly #lived: Lived;
  readonly #query: Query;
  readonly #storedActs: StoredActs;
  readonly #acts: Acts;
  readonly #eraser: Eraser;
  readonly #errors: ErrorSteps;
  readonly #facts: StoredFacts;
  readonly #notes: StoredNotes;

  /** `probe` checks that the file can be written. */
  constructor(
    deliveries: Deliveries,
    maintenance: Maintenance,
    requests: RequestTable,
    consumers: Consumers,
    probe: () => void,
  ) {
    const { tables } = deliveries;
    this.#maintenance = maintenance;
    this.#requests = requests;
    this.#consumers = consumers;
    this.#probe = probe;
    this.#lived = new Lived(tables.database);
    this.#query = new Query(deliveries, this.#lived);
    this.#storedActs = new StoredActs(tables);
    this.#acts = new Acts(deliveries, this.#query, this.#storedActs);
    this.#eraser = new Eraser(deliveries, this.#storedActs);
    this.#errors = new ErrorSteps(tables);
    this.#facts = new StoredFacts(deliveries, maintenance);
    this.#notes = new StoredNotes(tables.database);
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
    switch (call.ask) {
      case "get":
        return this.#query.get(call.id, call.receiver);
      case "list":
        return this.#query.list(call.query);
      case "summary":
        return this.#query.summary(call.query);
      case "facts":
        return this.#facts.of(call.receiver);
      case "notes":
        return this.#notes.find(call.receiver, call.prefix);
      case "keepNotes":
        return this.#notes.keep(call.receiver, call.notes);
      case "act":
        this.#consumers.invalidate();
        return this.#acts.next(call.query, call.from);
      case "acts":
        return this.#storedActs.list(call.query);
      case "errors":
        return this.#errors.next(call.query, call.from);
      case "erase":
        this.#consumers.invalidate();
        return this.#eraser.next(call.query, call.from);
      case "prune":
        return this.#maintenance.prune(call.now);
      case "foresee":
        return this.#maintenance.foresee(call.now);
      case "keepTime":
        return this.#lived.keep(call.mark);
      case "requests":
        return this.#requests.answer(call.call);
      case "health":
        return this.#probe();
      case "close":
      case "counts":
        return undefined;
    }
  }
}
