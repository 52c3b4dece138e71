import type { Row } from "./driver.ts";
import { type Lane, Lanes } from "./lanes.ts";
import type { Leases } from "./leases.ts";
import type { Handed } from "./protocol.ts";
import type { Queue, Waiting } from "./queue.ts";
import type { Receivers } from "./receivers.ts";

/** Who takes a delivery at once. */
export interface Taking {
  readonly lane: Lane;
  readonly owner: number;
}

/** What waits is read row by row: more in one turn would keep those waiting that are stored in it. */
const mostAtOnce = 32;

/** Leases to the lanes of this process what waits, and at once what nothing waits before. */
export class HandOut {
  readonly lanes: Lanes = new Lanes();
  readonly #queue: Queue;
  readonly #leases: Leases;
  readonly #receivers: Receivers;
  readonly #monotonic: () => number;
  /** What the other side still has in memory, in this turn. */
  readonly #inMemory = new Set<number>();
  #handed: Handed[] = [];

  constructor(queue: Queue, leases: Leases, receivers: Receivers, monotonic: () => number) {
    this.#queue = queue;
    this.#leases = leases;
    this.#receivers = receivers;
    this.#monotonic = monotonic;
  }

  /** A turn begins. */
  begin(): void {
    this.#inMemory.clear();
    this.#handed = [];
  }

  /** Whom to lease to what is about to be stored or recorded; null when it has to wait, or is at the end of its way. */
  taking(receiver: string, waiting: Waiting | null): Taking | null {
    if (waiting === null || !waiting.isDue) return null;
    const lane = this.lanes.taker(receiver, waiting.stage);
    return lane === null ? null : { lane, owner: this.#leases.own(this.#monotonic()) };
  }

  /** It was stored or recorded, under this number. */
  arrived(seq: number, receiver: string, waiting: Waiting | null, taking: Taking | null): void {
    this.#inMemory.add(seq);
    if (taking !== null) this.#take(taking.lane, seq, null);
    else if (waiting?.isDue) this.lanes.disturb(receiver, waiting.stage);
    else if (waiting !== null) this.lanes.postpone(receiver, waiting.stage, waiting.rank);
  }

  /** Rows were changed by somebody else than whoever has them in memory. */
  changed(): void {
    this.#inMemory.clear();
  }

  /** Leases what waits; returns that, and what was taken at once. */
  finish(): readonly Handed[] {
    for (const lane of this.lanes.asking()) {
      const receiver = this.#receivers.numberOf(lane.receiver);
      const places = Math.min(lane.places - lane.taken, mostAtOnce);
      const wanted = { ...lane, receiver, places };
      lane.dueAt = this.#queue.promote(wanted);
      const next = this.#queue.next(wanted);
      for (const seq of next) {
        const owner = this.#leases.own(this.#monotonic());
        const row = this.#inMemory.has(seq)
          ? this.#queue.lease(seq, lane.stage, owner)
          : this.#queue.leaseAndRead(seq, lane.stage, owner);
        this.#take(lane, seq, row);
      }
      lane.calm = next.length < places;
    }
    return this.#handed;
  }

  commit(): void {
    this.lanes.commit();
  }

  rollBack(): void {
    this.lanes.rollBack();
    this.#handed = [];
  }

  #take(lane: Lane, seq: number, row: Row | null): void {
    lane.taken++;
    this.#leases.held++;
    this.#handed.push({ lane: lane.lane, receiver: lane.receiver, seq, row });
  }
}
