import { addCounts } from "../../lib/add-counts.ts";
import { minuteMs } from "../../lib/time/units.ts";
import { zeroCounts } from "../counts.ts";
import {
  type Entry,
  isParked,
  isWaiting,
  type ReasonCode,
  type State,
  states,
} from "../delivery.ts";
import { idRange, type SummaryQuery } from "../query.ts";
import { isUnsigned, noticeMsOf, type Retention } from "../retention.ts";
import type { StoredDelivery } from "../stored-delivery.ts";
import { errorKeyOf } from "./error-groups.ts";
import type { ExpiringFact, Facts, Summary } from "./facts.ts";

/** The number of failing deliveries whose errors are compared. */
export const comparedErrors = 100;

/** The facts of one receiver among deliveries in memory; the caller counts what was deleted. */
export function factsOf(
  all: Iterable<StoredDelivery>,
  receiver: string,
  retention: Retention,
  deleted: Facts["deleted"],
): Facts {
  const counts = zeroCounts();
  const parked = new Map<ReasonCode, { count: number; since: number }>();
  const errors: string[] = [];
  const most = Number.POSITIVE_INFINITY;
  const first = { unverified: most, waiting: most, changedAt: most, announcedAt: most };
  let [newest, expiring, failing] = [-most, 0, 0];
  for (const stored of all) {
    if (stored.receiver !== receiver) continue;
    const { state, reason, changedAt, arrivedAt, announcedAt } = stored;
    counts[state]++;
    if (isNotification(stored)) newest = Math.max(newest, stored.receivedAt);
    if (isWaiting(state)) first.waiting = Math.min(first.waiting, arrivedAt);
    if (state === "received") first.unverified = Math.min(first.unverified, arrivedAt);
    if (isFailing(stored) && ++failing <= comparedErrors) errors.push(stored.lastError ?? "");
    if (!isParked(state) || reason === null) continue;
    const { count = 0, since = most } = parked.get(reason.code) ?? {};
    parked.set(reason.code, { count: count + 1, since: Math.min(since, changedAt) });
    if (announcedAt === null || isUnsigned(stored)) continue;
    expiring++;
    first.changedAt = Math.min(first.changedAt, changedAt);
    first.announcedAt = Math.min(first.announcedAt, announcedAt);
  }
  const orNull = (time: number): number | null => (Number.isFinite(time) ? time : null);
  return {
    counts,
    newest: orNull(newest),
    oldestUnverified: orNull(first.unverified),
    oldestWaiting: orNull(first.waiting),
    parked: [...parked].map(([reason, fact]) => ({ reason, ...fact })),
    deleted,
    expiring: expiring === 0 ? null : expiringOf(expiring, first, retention),
    failing: failing === 0 ? null : { count: failing, error: mostFrequent(errors) },
  };
}

/** Counts deliveries, as {@link Summary} shows them. */
export function summarize(
  all: Iterable<StoredDelivery>,
  { receiver, from, until }: SummaryQuery,
): Summary {
  const parked: Partial<Record<ReasonCode, number>> = {};
  let parkedChangedAt = Number.NEGATIVE_INFINITY;
  const oldest = Object.fromEntries(states.map((state) => [state, null])) as Record<
    State,
    Date | null
  >;
  const minutes = new Map<number, Record<State, number>>();
  const { first, below } = idRange({ from, until });
  for (const { receiver: of, id, state, reason, receivedAt, changedAt } of all) {
    if (receiver !== undefined && receiver !== of) continue;
    if (isParked(state) && reason !== null) {
      parked[reason.code] = (parked[reason.code] ?? 0) + 1;
      parkedChangedAt = Math.max(parkedChangedAt, changedAt);
    }
    if (receivedAt < (oldest[state]?.getTime() ?? Number.POSITIVE_INFINITY)) {
      oldest[state] = new Date(receivedAt);
    }
    if (id < first || id >= below) continue;
    const at = receivedAt - (receivedAt % minuteMs);
    const counts = minutes.get(at) ?? zeroCounts();
    counts[state]++;
    minutes.set(at, counts);
  }
  const inOrder = [...minutes].sort(([one], [other]) => one - other);
  return {
    parked,
    oldest,
    parkedChangedAt: Number.isFinite(parkedChangedAt) ? new Date(parkedChangedAt) : null,
    minutes: inOrder.map(([at, counts]) => ({ at: new Date(at), counts })),
  };
}

/** How many parked deliveries were deleted: for each receiver by reason. */
export class DeletedCounts {
  readonly #counts = new Map<string, Partial<Record<ReasonCode, number>>>();

  /** Counts a delivery that is deleted, if it is parked. */
  add({ receiver, state, reason }: Pick<StoredDelivery, "receiver" | "state" | "reason">): void {
    if (!isParked(state) || reason === null) return;
    const counts = this.#counts.get(receiver) ?? {};
    addCounts(counts, { [reason.code]: 1 });
    this.#counts.set(receiver, counts);
  }

  /** The counts of a receiver. */
  of(receiver: string): Facts["deleted"] {
    return { ...this.#counts.get(receiver) };
  }

  /** The receivers that have any. */
  receivers(): Iterable<string> {
    return this.#counts.keys();
  }
}

/** Whether a delivery came from outside: the receiver stores some itself. */
export function isNotification({
  type,
  verification,
}: Pick<StoredDelivery, "type" | "verification">): boolean {
  return type !== "report.overdue" && verification !== "settled";
}

/** The fact of so many parked deliveries that were announced, by the first times of them. */
export function expiringOf(
  count: number,
  { changedAt, announcedAt }: { readonly changedAt: number; readonly announcedAt: number },
  retention: Retention,
): ExpiringFact {
  const deletedFrom = Math.max(changedAt + retention.parkedMs, announcedAt + noticeMsOf(retention));
  return { count, since: announcedAt, deletedFrom };
}

/** Whether a delivery waits for another attempt because a handler failed. */
export function isFailing({ state, attempts }: Pick<Entry, "state" | "attempts">): boolean {
  return state === "verified" && attempts > 0;
}

/** The first line of the most frequent error, where ids and numbers make no difference; null without one. */
export function mostFrequent(errors: readonly string[]): string | null {
  const kinds = new Map<string, { readonly text: string; number: number }>();
  for (const error of errors) {
    const [text = ""] = error.split("\n", 1);
    const kind = errorKeyOf(text);
    const known = kinds.get(kind) ?? { text, number: 0 };
    known.number++;
    if (text !== "") kinds.set(kind, known);
  }
  const [most] = [...kinds.values()].sort((one, other) => other.number - one.number);
  return most?.text ?? null;
}
