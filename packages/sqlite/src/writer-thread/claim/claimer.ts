import type { Row } from "../../database/driver.ts";
import type { Handed } from "../../protocol/protocol.ts";
import type { Waiting } from "../../protocol/queues.ts";
import type { Receivers } from "../receiver-ids.ts";
import { type Lane, Lanes } from "./consumers.ts";
import type { Leases } from "./leases.ts";
import type { Queue } from "./queue.ts";

/** Who takes a delivery at once. */
export interface Taking {
  readonly lane: Lane;
  readonly owner: number;
}

/**
 * What waits is read row by row: more in one turn would keep those waiting that are stored in it. But more than come to
 * wait in it, or a backlog would stay.
 */
const atOnce = 32;
/** A delivery takes a place, and another for so much of its body: what is in memory at once is bounded, too. */
const bytesOfPlace = 64 * 1_024;

/** Leases to the lanes of this process what waits, and at once what nothing waits before. */
export class HandOut {
  readonly lanes: Lanes = new Lanes();
  readonly #queue: Queue;
  readonly #leases: Leases;
  readonly #receivers: Receivers;
  readonly #monotonic: () => number;
  /** What the other side still has in memory, in this turn: bytes of bodies by number. */
  #inMemory = new Map<number, number>();
  #handed: Handed[] = [];

  constructor(queue: Queue, leases: Leases, receivers: Receivers, monotonic: () => number) {
    this.#queue = queue;
    this.#leases = leases;
    this.#receivers = receivers;
    this.#monotonic = monotonic;
  }

  /** A turn begins. */
  begin(): void {
    this.#inMemory = new Map();
    this.#handed = [];
  }

  /** Whom to lease to what is about to be stored or recorded; null when it has to wait, or is at the end of its way. */
  taking(receiver: string, waiting: Waiting | null): Taking | null {
    if (waiting === null || !waiting.isDue) return null;
    const lane = this.lanes.taker(receiver, waiting.stage);
    return lane === null ? null : { lane, owner: this.#leases.own(this.#monotonic()) };
  }

  /** It was stored or recorded, under this number; `bytes` are those that were not in memory before. */
  arrived(
    seq: number,
    receiver: string,
    waiting: Waiting | null,
    taking: Taking | null,
    bytes: number,
  ): void {
    this.#inMemory.set(seq, bytes);
    if (taking !== null) this.#take(taking.lane, seq, null, bytes);
    else if (waiting?.isDue) this.lanes.leave(receiver, waiting.stage);
    else if (waiting !== null) this.lanes.postpone(receiver, waiting.stage, waiting.rank);
  }

  /** Rows were changed by somebody else than whoever has them in memory. */
  changed(): void {
    this.#inMemory = new Map();
  }

  /** Leases what waits; returns that, and what was taken at once. */
  finish(): readonly Handed[] {
    for (const lane of this.lanes.asking()) {
      const receiver = this.#receivers.numberOf(lane.receiver);
      const places = Math.min(lane.places - lane.taken, Math.max(atOnce, 2 * lane.left));
      const wanted = { ...lane, receiver, places };
      lane.dueAt = this.#queue.promote(wanted);
      const next = this.#queue.next(wanted);
      let handed = 0;
      while (handed < next.length && lane.taken < lane.places) {
        this.#lease(lane, next[handed++] as number);
      }
      lane.calm = handed < places && handed === next.length;
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

  #lease(lane: Lane, seq: number): void {
    const owner = this.#leases.own(this.#monotonic());
    const bytes = this.#inMemory.get(seq);
    if (bytes !== undefined) {
      this.#queue.lease(seq, lane.stage, owner);
      this.#take(lane, seq, null, bytes);
      return;
    }
    const row = this.#queue.leaseAndRead(seq, lane.stage, owner);
    const { body } = row;
    this.#take(lane, seq, row, body instanceof Uint8Array ? body.byteLength : 0);
  }

  #take(lane: Lane, seq: number, row: Row | null, bytes: number): void {
    const places = 1 + Math.floor(bytes / bytesOfPlace);
    lane.taken += places;
    this.#leases.held++;
    this.#handed.push({ lane: lane.lane, receiver: lane.receiver, seq, row, places });
  }
}
