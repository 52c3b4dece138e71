import type { Act, ActQuery, ActsQuery, Selection } from "./act.ts";

/** An act on the deliveries of an inbox, as its log shows it. */
export interface LoggedAct {
  readonly at: Date;
  /** The person, as the option `by` names one; else null. */
  readonly by: string | null;
  readonly act: Act | "erase";
  /** The filters of the selection, or the id. */
  readonly selection: Selection & { readonly id?: string | undefined };
  /** The number of deliveries that it changed: of one that ended half way, those that it has counted. */
  readonly count: number;
}

/** The number of acts that an inbox remembers: the last ones. */
export const maxActs = 1_000;

/** The log of an act that has changed so many deliveries so far. */
export function loggedActOf(
  query: Omit<ActQuery, "act"> & Pick<LoggedAct, "act">,
  count: number,
): LoggedAct {
  const { act, receiver: _, now, wallOffset = 0, by, dryRun: __, ...selection } = query;
  const given = Object.entries(selection).filter(([, value]) => value !== undefined);
  return {
    at: new Date(now + wallOffset),
    by,
    act,
    selection: Object.fromEntries(given),
    count,
  };
}

/** Reads the selection of a logged act from JSON, with its dates. */
export function selectionFrom(json: string): LoggedAct["selection"] {
  const dates = ["from", "until", "unchangedSince"];
  const parsed = JSON.parse(json, (name, value) =>
    dates.includes(name) ? new Date(value) : value,
  );
  return parsed as LoggedAct["selection"];
}

/** The last acts on an inbox, in memory. */
export class ActLog {
  readonly #acts: { readonly receiver: string | undefined; readonly act: LoggedAct }[] = [];

  /** Adds an act, unless it changed nothing. */
  add(query: ActQuery, count: number): void {
    if (count === 0) return;
    this.#acts.push({ receiver: query.receiver, act: loggedActOf(query, count) });
    if (this.#acts.length > maxActs) this.#acts.shift();
  }

  /** The last acts, newest first: those on this receiver, or on all. */
  list({ receiver, limit = 100 }: ActsQuery): LoggedAct[] {
    return this.#acts
      .filter(({ receiver: of }) => receiver === undefined || of === undefined || of === receiver)
      .map(({ act }) => act)
      .reverse()
      .slice(0, limit);
  }
}
