import { countReason, type ReasonCounts, type ReasonTally, zeroCounts } from "../counts.ts";
import { type Entry, isParked, isWaiting, type ReasonCode, type State } from "../delivery.ts";
import { noticeMsOf, type Retention } from "../retention.ts";
import { isUnsigned, type StoredDelivery } from "../stored-delivery.ts";
import { ErrorGroups, errorKeyOf } from "./error-groups.ts";

/** The state of one receiver's deliveries, from which its problems follow. Times are lived times in milliseconds, or null. */
export interface Facts {
  readonly counts: Readonly<Record<State, number>>;
  /** When the newest was received, by the time in its id; an inbox may tell it still when that one is deleted. */
  readonly newest: number | null;
  /** When the oldest arrived that waits for its verdict. */
  readonly oldestUnverified: number | null;
  /** When the oldest arrived that is neither handled nor parked. */
  readonly oldestWaiting: number | null;
  /** The parked ones by reason, without zeros: their number, and when the first of them was parked. */
  readonly parked: readonly ParkedFact[];
  /** How many parked ones were ever deleted, by reason: by a person, by retention, or to make room. */
  readonly deleted: ReasonCounts;
  /** The parked ones whose end was announced, at most 10,000: since when, and when the first is deleted at the earliest. */
  readonly expiring: {
    readonly count: number;
    readonly since: number;
    readonly deletedFrom: number;
  } | null;
  /** The number that wait for another attempt because a handler failed, and the most frequent error of some of them. */
  readonly failing: { readonly count: number; readonly error: string | null } | null;
}

/** The deliveries that are parked for one reason. */
export interface ParkedFact {
  readonly reason: ReasonCode;
  readonly count: number;
  readonly since: number;
}

/** Texts that are kept with an inbox, by key. */
export type Notes = Readonly<Record<string, string>>;

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

/** Counts a delivery that is deleted, if it is parked: by receiver and reason. */
export function countDeleted(
  counts: Map<string, ReasonTally>,
  stored: Pick<StoredDelivery, "receiver" | "state" | "reason">,
): void {
  const { receiver, state } = stored;
  if (!isParked(state)) return;
  const tally = counts.get(receiver) ?? {};
  countReason(tally, stored);
  counts.set(receiver, tally);
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
): NonNullable<Facts["expiring"]> {
  const deletedFrom = Math.max(changedAt + retention.parkedMs, announcedAt + noticeMsOf(retention));
  return { count, since: announcedAt, deletedFrom };
}

/** Whether a delivery waits for another attempt because a handler failed. */
export function isFailing({ state, attempts }: Pick<Entry, "state" | "attempts">): boolean {
  return state === "verified" && attempts > 0;
}

/** The first line of the most frequent error, where ids and numbers make no difference; null without one. */
export function mostFrequent(errors: readonly string[]): string | null {
  const groups = new ErrorGroups();
  for (const error of errors) {
    const [text = ""] = error.split("\n", 1);
    const alike = { error: errorKeyOf(text), reason: "verified", count: 1 } as const;
    if (text !== "") groups.add({ ...alike, oldest: 0, newest: 0, text });
  }
  return groups.list()[0]?.text ?? null;
}
