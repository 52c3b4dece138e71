import { ReporthookError } from "../../errors.ts";
import { addCounts, sumOf } from "../../lib/add-counts.ts";
import { countReason, type ReasonTally } from "../counts.ts";
import { type EntryDetails, isParked, type ReasonCode, type State } from "../delivery.ts";
import type { Inbox } from "../inbox.ts";
import { filterOf, isChosen } from "../query.ts";
import { isUnsigned, type StoredDelivery } from "../stored-delivery.ts";
import type { Act, ActQuery, ActStep } from "./act.ts";

/** The reasons for which nobody vouches for a delivery: a person looks at each, or names the reason. */
export const unvouchedReasons: readonly ReasonCode[] = [
  "unsigned",
  "expired",
  "not_verified",
  "reused_signature",
  "no_token",
];

/**
 * The states in which an act finds entries: handled ones are released by id, or when their state is named; rejected ones are
 * retried when their state or reason is named.
 */
export function statesOf({ act, id, state: asked, reason }: ActQuery): readonly State[] {
  const isRejectedMeant = id === undefined && (asked === "rejected" || reason !== undefined);
  const isHandledMeant = act === "release" && (id !== undefined || asked === "handled");
  const meant: State[] = act === "retry" ? ["received", "verified"] : ["held", "dead"];
  if (act === "retry" && isRejectedMeant) meant.push("rejected");
  if (isHandledMeant) meant.push("handled");
  return meant.filter((state) => isChosen(state, asked));
}

/**
 * Makes the comparison of deliveries with the query of an act. Without a reason, a release of many leaves out what nobody
 * vouches for; handled ones without a signature run again by their whole ids alone.
 */
export function selectorOf(query: ActQuery): (stored: StoredDelivery) => boolean {
  const { act, id, idPrefix, receiver, reason, unchangedSince, now } = query;
  const states = statesOf(query);
  const fits = filterOf(id === undefined ? query : { receiver });
  const lastChange = unchangedSince?.getTime() ?? Number.POSITIVE_INFINITY;
  const leftOut = act === "release" && (id ?? reason) === undefined ? unvouchedReasons : [];
  return (stored) => {
    const { state, changedAt, dueAt } = stored;
    if (!states.includes(state) || !fits(stored) || changedAt > lastChange) return false;
    if (id !== undefined && id !== stored.id) return false;
    if (stored.reason !== null && leftOut.includes(stored.reason.code)) return false;
    if (state === "handled" && (id ?? idPrefix) !== stored.id && isUnsigned(stored)) return false;
    if (state === "rejected") return stored.body !== null && stored.signature !== null;
    if (act === "discard") return true;
    return act === "retry" ? dueAt > now : stored.body !== null;
  };
}

/** Counts entries by reason, and notes when the last of them changed. */
export class ActCount implements ActStep {
  readonly counts: ReasonTally = {};
  changedAt: Date | null = null;

  add(stored: Pick<StoredDelivery, "reason" | "state" | "changedAt">): void {
    countReason(this.counts, stored);
    this.#changedAt(new Date(stored.changedAt));
  }

  addStep({ counts, changedAt }: ActStep): void {
    addCounts(this.counts, counts);
    this.#changedAt(changedAt);
  }

  #changedAt(at: Date | null): void {
    if (at !== null && at > (this.changedAt ?? 0)) this.changedAt = at;
  }

  get total(): number {
    return sumOf(this.counts);
  }
}

const past: Readonly<Record<Act, string>> = {
  release: "released",
  retry: "retried",
  discard: "discarded",
};

/**
 * Carries out an act in all its steps.
 *
 * Rejects `not_found`, `not_releasable` or `not_parked` for an id; when the inbox fails in between, with how many were done.
 */
export async function actOn(inbox: Inbox, query: ActQuery): Promise<ActCount> {
  const { act, id, receiver } = query;
  const done = new ActCount();
  try {
    for await (const step of inbox.act(query)) done.addStep(step);
  } catch (error) {
    if (done.total === 0 || query.dryRun === true) throw error;
    const { code = "inbox_failed", message } = error as ReporthookError;
    const text = `${message}. Before that ${done.total} were ${past[act]}; the rest is as it was`;
    throw new ReporthookError(code, text, { cause: error });
  }
  if (id !== undefined && done.total === 0) throw refusal(act, id, await inbox.get(id, receiver));
  return done;
}

/** The reason why an act did not concern the entry with this id. */
function refusal(act: Act, id: string, entry: EntryDetails | null): ReporthookError {
  if (entry === null) return new ReporthookError("not_found", `No delivery with the id ${id}`);
  const code = act === "discard" ? "not_parked" : "not_releasable";
  return new ReporthookError(code, `Delivery ${id} ${whyNot(act, entry)}`);
}

function whyNot(act: Act, { state, body }: Pick<EntryDetails, "state" | "body">): string {
  if (act === "retry") {
    return state === "rejected"
      ? "is rejected: name its state or its reason in a selection to have it asked about again"
      : "is not waiting for a retry: only waiting deliveries can be retried";
  }
  if (act === "discard" && !isParked(state)) {
    return `is ${state}: only held and dead ones can be discarded`;
  }
  if (!isParked(state) && state !== "handled") {
    return `is ${state}: only held, dead and handled ones can be released`;
  }
  return act === "release" && body === null
    ? "was erased: nothing is left to run"
    : "has changed in this moment: look at it again";
}
