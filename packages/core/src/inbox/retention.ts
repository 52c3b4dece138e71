import { addCounts } from "../lib/add-counts.ts";
import { dayMs } from "../lib/time/units.ts";
import { assertKnownKeys, assertPositive } from "../lib/validate.ts";
import {
  type Counted,
  type Counts,
  countReason,
  type ReasonCounts,
  type ReasonTally,
} from "./counts.ts";
import { isParked, isWaiting, type State } from "./delivery.ts";
import type { StoredRequest } from "./request-store.ts";
import { isUnsigned, type StoredDelivery } from "./stored-delivery.ts";

/** The option `retention` of every inbox: how long entries are kept, in milliseconds. */
export interface RetentionOptions {
  /** Handled ones: 7 days. */
  readonly handledMs?: number | undefined;
  /** Held and dead ones: 30 days. */
  readonly parkedMs?: number | undefined;
}

/**
 * Checks the option `retention` of the inbox `whose`, and fills in the defaults.
 *
 * @throws TypeError that names what is wrong or unknown
 */
export function retentionOf(whose: string, given: RetentionOptions = {}): Retention {
  assertKnownKeys(whose, given, ["handledMs", "parkedMs"], "retention.");
  const { handledMs = 7 * dayMs, parkedMs = 30 * dayMs } = given;
  assertPositive(`${whose}: retention.handledMs`, " of milliseconds", handledMs);
  assertPositive(`${whose}: retention.parkedMs`, " of milliseconds", parkedMs);
  return { handledMs, parkedMs };
}

/**
 * The maximum number of unsigned deliveries in each state: held ones, and the latest handled and dead ones. Anyone can send one.
 */
export const maxUnsigned = 1_000;

/** The maximum number, and of bytes together, of rejected deliveries that keep body and signature: the newest. */
export const wholeRejected: { readonly max: number; readonly bytes: number } = {
  max: 1_000,
  bytes: 16 * 2 ** 20,
};

/** How long handled and parked deliveries are kept, in milliseconds. */
export type Retention = { readonly [Name in keyof RetentionOptions]-?: number };

/** How long before its end, in milliseconds, a parked delivery is announced: 3 days, or half of a shorter retention. */
export function noticeMsOf({ parkedMs }: Retention): number {
  return Math.min(3 * dayMs, parkedMs / 2);
}

/** The next step of retention with a delivery. An unsigned one is deleted without an announcement, after a day. */
export function retentionStep(
  stored: StoredDelivery,
  retention: Retention,
  now: number,
): "keep" | "announce" | "delete" {
  const { state, changedAt, announcedAt } = stored;
  if (isWaiting(state)) return "keep";
  const { handledMs, parkedMs } = retention;
  const age = now - changedAt;
  if (!isParked(state) || isUnsigned(stored)) {
    const isShort = state === "rejected" || isUnsigned(stored);
    return age > (isShort ? dayMs : handledMs) ? "delete" : "keep";
  }
  const noticeMs = noticeMsOf(retention);
  if (announcedAt === null) return age > parkedMs - noticeMs ? "announce" : "keep";
  return age > parkedMs && now - announcedAt >= noticeMs ? "delete" : "keep";
}

/** Milliseconds for which a request that is not settled is kept after it was due. */
export const unsettledKeptMs: number = 30 * dayMs;

/** Whether the retention of a request is over at a lived time: it is then deleted, once no delivery of it is kept. */
export function isRequestOver(
  { dueAt, settledAt, dates }: StoredRequest,
  { handledMs }: Retention,
  now: number,
): boolean {
  if (settledAt !== null) return now - settledAt > handledMs;
  return dates.overdueAt !== null && now - dueAt > unsettledKeptMs;
}

/** The result of {@link Inbox.prune}, or of a step of it. */
export interface Pruned {
  /** The number of deleted entries by state. */
  readonly deleted: Readonly<Partial<Counts>>;
  /** The deleted ones that were announced, by reason. */
  readonly parked: ReasonCounts;
  /** The deleted parked ones without a signature, by reason: these are not announced. */
  readonly unsigned: ReasonCounts;
  /** The parked ones that were announced now, by reason: they are deleted `noticeMs` milliseconds later at the earliest. */
  readonly announced: ReasonCounts;
  readonly noticeMs: number;
  /** The parked ones that made room since the last call, by reason: only an inbox with a limit in bytes has these. */
  readonly madeRoom: ReasonCounts;
}

/** Adds up what a call of `prune` does. */
export class PruneCount implements Pruned {
  readonly deleted: Partial<Record<State, number>> = {};
  readonly parked: ReasonTally = {};
  readonly unsigned: ReasonTally = {};
  readonly announced: ReasonTally = {};
  readonly madeRoom: ReasonTally = {};
  noticeMs: number;
  readonly #retention: Retention;

  constructor(retention: Retention) {
    this.#retention = retention;
    this.noticeMs = noticeMsOf(retention);
  }

  /** Counts the next step of retention with a delivery, and returns it. */
  step(stored: StoredDelivery, now: number): ReturnType<typeof retentionStep> {
    const step = retentionStep(stored, this.#retention, now);
    if (step === "announce") this.announce(stored);
    else if (step === "delete") this.delete(stored, stored.announcedAt !== null);
    return step;
  }

  delete(counted: Counted, isAnnounced: boolean, number = 1): void {
    const { state } = counted;
    this.deleted[state] = (this.deleted[state] ?? 0) + number;
    if (isParked(state)) countReason(isAnnounced ? this.parked : this.unsigned, counted, number);
  }

  announce(counted: Counted, number = 1): void {
    countReason(this.announced, counted, number);
  }

  addStep({ deleted, parked, unsigned, announced, madeRoom, noticeMs }: Pruned): void {
    this.noticeMs = noticeMs;
    addCounts(this.deleted, deleted);
    addCounts(this.parked, parked);
    addCounts(this.unsigned, unsigned);
    addCounts(this.announced, announced);
    addCounts(this.madeRoom, madeRoom);
  }
}
