import type { Stage } from "@reporthook/core";
import type { LivedMoment, StoredDelivery } from "@reporthook/core/store";
import { type Queued, queues } from "../../protocol/position.ts";
import type { Claimed, ConsumerState } from "../../protocol/protocol.ts";
import { storedDeliveryOf } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";
import type { Leases } from "./leases.ts";
import { hasten, nextInQueue, promote } from "./queue.ts";

/**
 * Waiting deliveries are read row by row: more of them in one batch would delay its additions. But at least twice as many as
 * begin to wait in the batch are claimed, so that a backlog shrinks.
 */
const claimedAtLeast = 32;
/** A delivery costs one credit, and another for each of these bytes: all bodies in memory are bounded, too. */
const bytesPerCredit = 64 * 1_024;

/** A consumer of this process. */
export interface ActiveConsumer {
  /** As the main thread has sent it last. */
  state: ConsumerState;
  /** The credit that is left; negative if it got more deliveries than it wanted. */
  credit: number;
  /** When the first of its deliveries is due; -Infinity if one may be due now, Infinity if none waits. */
  dueAt: number;
  /** The same as the main thread knows it; null if it has to be told. */
  toldDueAt: number | null;
  /** The number of deliveries of the running batch that have to wait. */
  left: number;
}

/**
 * Claims deliveries for the consumers of this process, as far as they have credit: the one that is stored or recorded, if nothing
 * waits before it, and at the end of a batch those that wait in the queue. The row of a claimed one says that this process has its
 * lease.
 */
export class Claimer {
  readonly #deliveries: Deliveries;
  readonly #leases: Leases;
  readonly #byReceiver = new Map<string, readonly ActiveConsumer[]>();
  /** The consumers that the running batch may serve or has to tell: looking at all of them takes longer the more there are. */
  readonly #changed = new Set<ActiveConsumer>();
  /** The consumers that have begun since the last commit. */
  #begun: ActiveConsumer[] = [];
  #last: LivedMoment = { now: 0, wallOffset: 0 };
  #claimed: Claimed[] = [];
  /** Whether the batch has failed: no further claim would reach a consumer. */
  #failed = false;

  constructor(deliveries: Deliveries, leases: Leases) {
    this.#deliveries = deliveries;
    this.#leases = leases;
  }

  get hasConsumers(): boolean {
    return this.#byReceiver.size > 0;
  }

  /** The last known time of a receiver; of another one, when it has no consumer here. */
  momentOf(receiver: string): LivedMoment {
    return this.#byReceiver.get(receiver)?.[0]?.state ?? this.#last;
  }

  /** Begins a batch. */
  begin(): void {
    this.#claimed = [];
    this.#failed = false;
  }

  /** Takes over the states that the main thread has sent, and the credit that they add. */
  update(states: readonly ConsumerState[]): void {
    for (const state of states) {
      this.#last = state;
      const ofReceiver = this.#byReceiver.get(state.receiver) ?? [];
      const known = ofReceiver.find((one) => one.state.consumer === state.consumer);
      if (state.hasEnded) {
        if (known !== undefined) this.#changed.delete(known);
        const others = ofReceiver.filter((one) => one !== known);
        if (others.length > 0) this.#byReceiver.set(state.receiver, others);
        else this.#byReceiver.delete(state.receiver);
      } else if (known === undefined) {
        const begun = { state, credit: state.credit, dueAt: -Infinity, toldDueAt: null, left: 0 };
        this.#begun.push(begun);
        this.#changed.add(begun);
        this.#byReceiver.set(state.receiver, [...ofReceiver, begun]);
      } else {
        known.state = state;
        known.credit += state.credit;
        known.toldDueAt = null;
        this.#changed.add(known);
      }
    }
  }

  /** The consumer that can have a delivery at once, if this is the first in order or nothing else is due; else null. */
  readyFor(receiver: string, stage: Stage, isFirst: boolean): ActiveConsumer | null {
    if (!this.#mayClaim) return null;
    const ofReceiver = this.#byReceiver.get(receiver) ?? [];
    const isReady = (one: ActiveConsumer): boolean =>
      one.state.stage === stage && one.credit > 0 && (isFirst || !isDue(one));
    return ofReceiver.find(isReady) ?? null;
  }

  /** Gives a delivery to the consumer that its row is leased for; `bytes` is the size of a body that was not in memory before. */
  give(
    consumer: ActiveConsumer,
    seq: number,
    bytes: number,
    stored: StoredDelivery | null = null,
    isFirstStart = true,
  ): void {
    const cost = 1 + Math.floor(bytes / bytesPerCredit);
    consumer.credit -= cost;
    this.#leases.held++;
    this.#claimed.push({ consumer: consumer.state.consumer, seq, stored, isFirstStart, cost });
  }

  /** Notes that a delivery of the batch waits: until it is due, or for credit. */
  noteWaiting(receiver: string, { stage, dueAt }: Queued): void {
    for (const one of this.#byReceiver.get(receiver) ?? []) {
      if (one.state.stage !== stage) continue;
      one.dueAt = Math.min(one.dueAt, dueAt ?? -Infinity);
      this.#changed.add(one);
      if (dueAt === null) one.left++;
    }
  }

  /** Has all consumers look for what is due: the file has changed otherwise than by their deliveries. */
  invalidate(): void {
    for (const one of this.#all) {
      one.dueAt = -Infinity;
      this.#changed.add(one);
    }
  }

  /** Claims deliveries that wait; returns all that were claimed in this batch. */
  finish(): readonly Claimed[] {
    for (const { state } of this.#begun) {
      if (state.stage === "verify") hasten(this.#deliveries, state);
    }
    // Others claim what this process could not begin.
    const served = this.#mayClaim ? [...this.#changed].filter(mayBeServed) : [];
    for (const consumer of served) this.#serve(consumer);
    return this.#claimed;
  }

  /** The due times that the main thread does not know, of consumers with credit: others ask once they have some. */
  takeDue(): { readonly consumer: number; readonly at: number }[] {
    const untold = [...this.#changed].filter(
      (one) => one.credit > 0 && one.dueAt !== one.toldDueAt,
    );
    for (const one of untold) one.toldDueAt = one.dueAt;
    return untold.map(({ state, dueAt }) => ({ consumer: state.consumer, at: dueAt }));
  }

  /** Ends a batch. */
  commit(): void {
    this.#begun = [];
    for (const one of this.#changed) {
      one.left = 0;
      if (!mayBeServed(one)) this.#changed.delete(one);
    }
  }

  /** Ends a batch that has failed: gives back the credit of what was claimed. Nobody knows what is due, nor is told. */
  rollBack(): void {
    this.#failed = true;
    for (const one of this.#all) {
      const own = this.#claimed.filter(({ consumer }) => consumer === one.state.consumer);
      one.credit += own.reduce((sum, { cost }) => sum + cost, 0);
      one.left = 0;
      one.toldDueAt = null;
    }
    this.invalidate();
  }

  get #all(): readonly ActiveConsumer[] {
    return [...this.#byReceiver.values()].flat();
  }

  get #mayClaim(): boolean {
    return !this.#failed && this.#leases.mayClaim;
  }

  #serve(consumer: ActiveConsumer): void {
    const limit = Math.min(consumer.credit, Math.max(claimedAtLeast, 2 * consumer.left));
    const laterAt = promote(this.#deliveries, consumer.state);
    const seqs = nextInQueue(this.#deliveries, consumer.state, limit);
    let claimed = 0;
    while (claimed < seqs.length && consumer.credit > 0) {
      this.#claim(consumer, seqs[claimed++] as number);
    }
    const isAll = claimed < limit && claimed === seqs.length;
    consumer.dueAt = isAll ? laterAt : -Infinity;
  }

  #claim(consumer: ActiveConsumer, seq: number): void {
    const { stage, receiver } = consumer.state;
    const lease = this.#deliveries.statement(
      "UPDATE delivery SET queue = ?, rank = ?, starts = starts + 1 WHERE seq = ? RETURNING *",
    );
    const row = lease.get(queues[stage].leased, this.#leases.register(), seq) ?? {};
    const stored = storedDeliveryOf(row, receiver);
    const bytes = stored.body?.byteLength ?? 0;
    this.give(consumer, seq, bytes, stored, Number(row["starts"]) <= 1);
  }
}

function mayBeServed(one: ActiveConsumer): boolean {
  return one.credit > 0 && isDue(one);
}

/** Whether something may be due for a consumer. */
function isDue({ dueAt, state }: ActiveConsumer): boolean {
  return dueAt <= state.now;
}
