import { addCounts } from "../../lib/add-counts.ts";
import type { ReasonCounts } from "../counts.ts";
import type { Outcome, ReasonCode, State } from "../delivery.ts";
import { type ErrorsQuery, isChosen } from "../query.ts";
import type { StoredDelivery } from "../stored-delivery.ts";

/** Deliveries whose last attempts failed with equal errors. */
export interface ErrorGroup {
  /** The key of the group, as {@link Entry} has it. */
  readonly error: string;
  /** The first line of the error of the newest one. */
  readonly text: string;
  readonly count: number;
  /** When the oldest and the newest of them were received. */
  readonly oldest: Date;
  readonly newest: Date;
  readonly reasons: ReasonCounts;
}

/** The number of groups that are told: the largest. */
const maxGroups = 1_000;

/**
 * The key of the group of an error: 8 characters, equal for texts that differ in numbers, in words with digits, as ids are, and
 * in stack frames.
 */
export function errorKeyOf(text: string): string {
  // A frame is a line, indented by four spaces.
  const kind = text
    .replace(/\n {4}.*/g, "")
    .replace(/[\w-]+/g, (word) => (/\d/.test(word) ? "#" : word));
  // The 41 bits of two hashes (FNV-1a, with other factors), which are 8 digits.
  let [one, other] = [0x811c9dc5, 0x9dc5811c];
  for (let at = 0; at < kind.length; at++) {
    const unit = kind.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x85ebca6b);
  }
  return ((one >>> 0) * 2 ** 9 + (other >>> 23)).toString(36).padStart(8, "0");
}

/** The key of a delivery's error after an attempt; null without one, and of a handled one, which has a note. */
export function errorKeyAfter(outcome: Outcome): string | null {
  if (outcome.to === "handled" || !outcome.error) return null;
  return errorKeyOf(outcome.error);
}

/** Some deliveries of a group, as a store counts them. */
export interface SomeOfGroup {
  readonly error: string;
  readonly reason: ReasonCode | State;
  readonly count: number;
  /** When the oldest and the newest of them were received. */
  readonly oldest: number;
  readonly newest: number;
  /** The error of the newest. */
  readonly text: string | null;
}

/** Groups deliveries by their errors. */
export class ErrorGroups {
  readonly #groups = new Map<string, ErrorGroup>();

  add({ error, reason, count, oldest, newest, text }: SomeOfGroup): void {
    const known = this.#groups.get(error);
    const reasons = { ...known?.reasons };
    addCounts(reasons, { [reason]: count });
    const isNewer = known === undefined || newest >= known.newest.getTime();
    this.#groups.set(error, {
      error,
      text: isNewer ? (text?.split("\n", 1)[0] ?? "") : known.text,
      count: (known?.count ?? 0) + count,
      oldest: new Date(Math.min(oldest, known?.oldest.getTime() ?? oldest)),
      newest: new Date(Math.max(newest, known?.newest.getTime() ?? newest)),
      reasons,
    });
  }

  /** Adds a delivery, if it is one that the query is about. */
  addStored(stored: StoredDelivery, { receiver, state = "parked" }: ErrorsQuery): void {
    const { error, reason, receivedAt, lastError } = stored;
    if (error === null || !isChosen(stored.state, state)) return;
    if (receiver !== undefined && receiver !== stored.receiver) return;
    const times = { oldest: receivedAt, newest: receivedAt };
    this.add({ error, reason: reason?.code ?? stored.state, count: 1, ...times, text: lastError });
  }

  /** Forgets the smallest groups, if there are too many to be told; never the one with this key. */
  bound(current: string): void {
    if (this.#groups.size <= 2 * maxGroups) return;
    const kept = [...this.list(), this.#groups.get(current)];
    this.#groups.clear();
    for (const group of kept) if (group !== undefined) this.#groups.set(group.error, group);
  }

  /** The largest groups, the largest first. */
  list(): ErrorGroup[] {
    const sorted = [...this.#groups.values()].sort((one, other) => other.count - one.count);
    return sorted.slice(0, maxGroups);
  }
}

/** Groups deliveries by their errors. */
export function groupErrors(all: Iterable<StoredDelivery>, query: ErrorsQuery = {}): ErrorGroup[] {
  const groups = new ErrorGroups();
  for (const stored of all) groups.addStored(stored, query);
  return groups.list();
}
