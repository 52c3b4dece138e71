import type { Stage } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import type { Queued } from "../../protocol/position.ts";
import type { Claimed } from "../../protocol/protocol.ts";
import { storedDeliveryOf } from "../../protocol/row.ts";
import type { ReceiverIds } from "../receiver-ids.ts";
import { type ActiveConsumer, Consumers } from "./consumers.ts";
import type { Leases } from "./leases.ts";
import type { Queue, Waiting } from "./queue.ts";

/** A delivery that was stored or recorded in the running batch. */
export interface Arrived {
  readonly seq: number;
  readonly receiver: string;
  /** Null at the end of its way. */
  readonly queued: Queued | null;
  /** The consumer that has claimed it. */
  readonly claimedBy: ActiveConsumer | null;
  /** The size of its body, if that was not in memory before. */
  readonly bytes: number;
}

/**
 * Waiting deliveries are read row by row: more of them in one batch would delay its additions. But at least twice as many as
 * begin to wait in the batch are claimed, so that a backlog shrinks.
 */
const claimedAtLeast = 32;
/** A delivery costs one credit, and another for each of these bytes: all bodies in memory are bounded, too. */
const bytesPerCredit = 64 * 1_024;

/** Claims deliveries for the consumers of this process: as they come if nothing waits before them, else from the queue. */
export class Claimer {
  readonly consumers: Consumers = new Consumers();
  readonly #queue: Queue;
  readonly #leases: Leases;
  readonly #receivers: ReceiverIds;
  /** The time of receipt of the newest delivery that this process has stored, by receiver. */
  readonly #newest = new Map<string, number>();
  /** Deliveries that came in this batch and wait, so that the main thread has them in memory: bytes of their bodies, by number. */
  #inMemory = new Map<number, number>();
  #claimed: Claimed[] = [];
  /** Whether the batch has failed: no further claim would reach a consumer. */
  #failed = false;

  constructor(queue: Queue, leases: Leases, receivers: ReceiverIds) {
    this.#queue = queue;
    this.#leases = leases;
    this.#receivers = receivers;
  }

  /** Begins a batch. */
  begin(): void {
    this.#inMemory = new Map();
    this.#claimed = [];
    this.#failed = false;
  }

  /** The consumer for a delivery that is about to be stored, for the verify stage: the newest is always first. */
  claimNew(receiver: string, arrivedAt: number): ActiveConsumer | null {
    const newest = this.#newest.get(receiver) ?? Number.NEGATIVE_INFINITY;
    if (arrivedAt > newest) this.#newest.set(receiver, arrivedAt);
    return this.#claimFor(receiver, "verify", arrivedAt >= newest);
  }

  /** The consumer for a delivery that is about to be recorded; null if it has to wait, or is at the end of its way. */
  claimAgain(receiver: string, queued: Queued | null): ActiveConsumer | null {
    if (queued === null || queued.dueAt !== null) return null;
    return this.#claimFor(receiver, queued.stage, false);
  }

  #claimFor(receiver: string, stage: Stage, isFirst: boolean): ActiveConsumer | null {
    return this.#failed || !this.#leases.mayClaim
      ? null
      : this.consumers.claimant(receiver, stage, isFirst);
  }

  /** Notes a delivery that was stored or recorded, and its claim. */
  arrived({ seq, receiver, queued, claimedBy, bytes }: Arrived): void {
    if (claimedBy !== null) {
      this.#take(claimedBy, seq, null, bytes);
    } else if (queued !== null) {
      this.#inMemory.set(seq, bytes);
      this.consumers.noteWaiting(receiver, queued.stage, queued.dueAt);
    }
  }

  /** Forgets the deliveries in the main thread's memory: their rows were changed. */
  invalidate(): void {
    this.consumers.invalidate();
    this.#inMemory = new Map();
  }

  /** Claims waiting deliveries; returns all that were claimed in this batch. */
  finish(): readonly Claimed[] {
    for (const consumer of this.consumers.begun()) {
      this.#queue.hasten(this.#waitingFor(consumer));
      consumer.hastened = true;
    }
    // Others claim what this process could not begin.
    for (const consumer of this.#leases.mayClaim ? this.consumers.toServe() : []) {
      const { credit, spent, left } = consumer;
      const waiting = this.#waitingFor(consumer);
      const limit = Math.min(credit - spent, Math.max(claimedAtLeast, 2 * left));
      consumer.dueAt = this.#queue.promote(waiting);
      const seqs = this.#queue.next(waiting, limit);
      let claimed = 0;
      while (claimed < seqs.length && consumer.spent < consumer.credit) {
        this.#claim(consumer, seqs[claimed++] as number);
      }
      consumer.drained = claimed < limit && claimed === seqs.length;
    }
    return this.#claimed;
  }

  commit(): void {
    this.consumers.commit();
  }

  rollBack(): void {
    this.consumers.rollBack();
    this.#claimed = [];
    this.#failed = true;
  }

  #waitingFor({ state }: ActiveConsumer): Waiting {
    const { stage, now, knownSince } = state;
    return { receiver: this.#receivers.idOf(state.receiver), stage, now, knownSince };
  }

  #claim(consumer: ActiveConsumer, seq: number): void {
    const { stage, receiver } = consumer.state;
    const workerId = this.#leases.register();
    const bytes = this.#inMemory.get(seq);
    if (bytes !== undefined) {
      this.#queue.lease(seq, stage, workerId);
      this.#take(consumer, seq, null, bytes);
      return;
    }
    const row = this.#queue.leaseAndRead(seq, stage, workerId);
    const stored = storedDeliveryOf(row, receiver);
    this.#take(consumer, seq, stored, stored.body?.byteLength ?? 0, Number(row["starts"]) <= 1);
  }

  #take(
    to: ActiveConsumer,
    seq: number,
    stored: StoredDelivery | null,
    bytes: number,
    isFirstStart = true,
  ): void {
    const cost = 1 + Math.floor(bytes / bytesPerCredit);
    to.spent += cost;
    this.#leases.held++;
    this.#claimed.push({ consumer: to.state.consumer, seq, stored, isFirstStart, cost });
  }
}
