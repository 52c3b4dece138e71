import { ReporthookError } from "@reporthook/core";
import type { CallResult, ThreadCall } from "../protocol/protocol.ts";
import type { Acts } from "./admin/acts.ts";
import type { Admin } from "./admin/admin.ts";
import type { Eraser } from "./admin/erase.ts";
import type { Errors } from "./admin/errors.ts";
import type { StoredFacts } from "./admin/facts.ts";
import type { Maintenance } from "./admin/maintenance.ts";
import type { Query } from "./admin/query.ts";
import type { Claimer } from "./claim/claimer.ts";
import { failureOf } from "./errors.ts";
import type { Lived } from "./lived.ts";
import type { StoredNotes } from "./notes.ts";
import type { RequestTable } from "./request-table.ts";

/** The parts of the writer that calls use. */
export interface Callees {
  readonly admin: Admin;
  readonly acts: Acts;
  readonly errors: Errors;
  readonly eraser: Eraser;
  readonly query: Query;
  readonly maintenance: Maintenance;
  readonly claimer: Claimer;
  readonly lived: Lived;
  readonly requests: RequestTable;
  readonly facts: StoredFacts;
  readonly notes: StoredNotes;
  /** Checks that the file can be written. */
  probe(): void;
}

/** Carries out a call; returns its value, or its failure: a wrong request must not undo others. */
export function answerTo(call: ThreadCall, callees: Callees, path: string): CallResult {
  try {
    return { value: carryOut(call, callees) };
  } catch (error) {
    if (error instanceof ReporthookError) return failureOf(error, path);
    throw error;
  }
}

function carryOut(call: ThreadCall, callees: Callees): unknown {
  const { admin, query, maintenance, claimer } = callees;
  switch (call.ask) {
    case "get":
      return admin.get(call.id, call.receiver);
    case "list":
      return query.list(call.query);
    case "summary":
      return query.summary(call.query);
    case "facts":
      return callees.facts.of(call.receiver);
    case "notes":
      return callees.notes.find(call.receiver, call.prefix);
    case "keepNotes":
      return callees.notes.keep(call.receiver, call.notes);
    case "act":
      claimer.consumers.invalidate();
      return admin.act(call.query, call.after, call.number);
    case "acts":
      return callees.acts.list(call.query);
    case "errors":
      return callees.errors.next(call.query, call.from);
    case "erase":
      claimer.consumers.invalidate();
      return callees.eraser.next(call.query, call.from);
    case "prune":
      return call.dryRun ? maintenance.foresee(call.now) : maintenance.prune(call.now);
    case "keepTime":
      return callees.lived.keep(call.mark);
    case "requests":
      return callees.requests.answer(call.call);
    case "health":
      return callees.probe();
    case "close":
    case "counts":
      return undefined;
  }
}
