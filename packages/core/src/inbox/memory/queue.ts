import { Heap } from "../../lib/heap.ts";
import { type Stage, signatureLifetimeMs } from "../delivery.ts";
import type { MemoryDelivery } from "./dedupe-window.ts";

/**
 * The deliveries that wait for one stage of one receiver. Order of verification: first the newest ones whose signatures may be
 * valid, then deprioritized ones by their last turn, then older ones. Order of handling: by due time.
 */
export class MemoryQueue {
  /** Called after each push. */
  readonly listeners: Set<() => void> = new Set();
  readonly stage: Stage;
  readonly #first = new Heap<MemoryDelivery>();
  readonly #yielding = new Heap<MemoryDelivery>();
  readonly #later = new Heap<MemoryDelivery>();

  constructor(stage: Stage) {
    this.stage = stage;
  }

  push(value: MemoryDelivery, now: number): void {
    if (value.dueAt > now) this.#later.push(value.dueAt, value);
    else this.#ready(value);
    for (const wake of this.listeners) wake();
  }

  /** Removes those of the deliveries that are not due yet; returns these. */
  removeLater(values: ReadonlySet<MemoryDelivery>): MemoryDelivery[] {
    return this.#later.removeAll(values);
  }

  /** Has all come due at this moment at the latest. */
  bringForward(at: number): void {
    const late: MemoryDelivery[] = [];
    for (let next = this.#later.pop(); next !== undefined; next = this.#later.pop())
      late.push(next);
    for (const value of late) {
      value.dueAt = Math.min(value.dueAt, at);
      this.#later.push(value.dueAt, value);
    }
  }

  /** The next that is due, or undefined; ages count from `knownSince` at the earliest. */
  pop(now: number, knownSince = 0): MemoryDelivery | undefined {
    while ((this.#later.rank ?? Number.POSITIVE_INFINITY) <= now) {
      this.#ready(this.#later.pop() as MemoryDelivery);
    }
    // When the newest is past its lifetime, all are.
    const since = Math.max(-(this.#first.rank ?? -now), knownSince);
    const isPast = this.stage === "verify" && now - since >= signatureLifetimeMs;
    return (isPast ? undefined : this.#first.pop()) ?? this.#yielding.pop() ?? this.#first.pop();
  }

  /** When the next one comes due that was not due at the last `pop`. */
  get nextDueAt(): number | undefined {
    return this.#later.rank;
  }

  #ready(value: MemoryDelivery): void {
    const { arrivedAt, dueAt, lastTurnAt } = value;
    if (lastTurnAt !== null) this.#yielding.push(lastTurnAt, value);
    else this.#first.push(this.stage === "verify" ? -arrivedAt : dueAt, value);
  }
}
