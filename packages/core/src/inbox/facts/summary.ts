import { minuteMs } from "../../lib/time/units.ts";
import { zeroCounts } from "../counts.ts";
import { isParked, type ReasonCode, type State, states } from "../delivery.ts";
import { idRange, type SummaryQuery } from "../query.ts";
import type { StoredDelivery } from "../stored-delivery.ts";

/** The numbers of an inbox. */
export interface Summary {
  /** The number of parked entries by reason, without zeros. */
  readonly parked: Readonly<Partial<Record<ReasonCode, number>>>;
  /** The newest `changedAt` of a parked entry, or null. */
  readonly parkedChangedAt: Date | null;
  /** The time of receipt of the oldest entry in each state, or null; that of `handled` only where it is at hand. */
  readonly oldest: Readonly<Record<State, Date | null>>;
  /** The minutes in which something was received, oldest first. */
  readonly minutes: readonly Minute[];
}

/** The notifications received in one minute. */
export interface Minute {
  /** The beginning of the minute. */
  readonly at: Date;
  /** Their number by current state. */
  readonly counts: Readonly<Record<State, number>>;
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
