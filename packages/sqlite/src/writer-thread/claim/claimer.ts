import type { StoredDelivery } from "@reporthook/core/store";
import { type Queued, queues } from "../../protocol/position.ts";
import type { Claimed } from "../../protocol/protocol.ts";
import { storedDeliveryOf } from "../../protocol/row.ts";
import type { Deliveries } from "../deliveries.ts";
import { type ActiveConsumer, Consumers } from "./consumers.ts";
import type { Leases } from "./leases.ts";
import { hasten, nextInQueue, promote } from "./queue.ts";

/**
 * Waiting deliveries are read row by row: more of them in one batch would delay its additions. But at least twice as many as
 * begin to wait in the batch are claimed, so that a backlog shrinks.
 */
const claimedAtLeast = 32;
/** A delivery costs one credit, and another for each of these bytes: all bodies in memory are bounded, too. */
const bytesPerCredit = 64 * 1_024;

/**
 * Claims deliveries for the consumers of this process: the one that is stored or recorded, if nothing waits before it, and at the
 * end of a batch those that wait in the queue. The row of a claimed delivery says that this process has its lease.
 */
export class Claimer {
  readonly consumers: Consumers = new Consumers();
  readonly #deliveries: Deliveries;
  readonly #leases: Leases;
  #claimed: Claimed[] = [];
  /** Whether the batch has failed: no further claim would reach a consumer. */
  #failed = false;

  constructor(deliveries: Deliveries, leases: Leases) {
    this.#deliveries = deliveries;
    this.#leases = leases;
  }

  /** Begins a batch. */
  begin(): void {
    this.#claimed = [];
    this.#failed = false;
  }

  /** The consumer that can have a delivery that is about to be stored: to be verified, the newest is always first. */
  consumerForNew(receiver: string): ActiveConsumer | null {
    return this.#mayClaim ? this.consumers.readyFor(receiver, "verify", true) : null;
  }

  /** The consumer that can have a delivery that is about to be recorded; null if it has to wait, or is at the end of its way. */
  consumerFor(receiver: string, queued: Queued | null): ActiveConsumer | null {
    if (queued === null || queued.dueAt !== null || !this.#mayClaim) return null;
    return this.consumers.readyFor(receiver, queued.stage, false);
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

  /** Claims deliveries that wait; returns all that were claimed in this batch. */
  finish(): readonly Claimed[] {
    for (const { state } of this.consumers.begun) {
      if (state.stage === "verify") hasten(this.#deliveries, state);
    }
    // Others claim what this process could not begin.
    for (const consumer of this.#mayClaim ? this.consumers.toServe() : []) this.#serve(consumer);
    return this.#claimed;
  }

  rollBack(): void {
    this.consumers.rollBack(this.#claimed);
    this.#claimed = [];
    this.#failed = true;
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
