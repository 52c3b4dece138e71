import { clearTimeout, setTimeout } from "node:timers";
import type { Clock } from "@reporthook/core";
import { Pace, setUnrefTimeout } from "@reporthook/core/store";
import type { Leased } from "./thread-connection.ts";

interface Waiting {
  readonly leased: Leased;
  /** The time since which it has waited, or since the event loop was blocked. */
  since: number;
}

/** Milliseconds: deliveries that are likely to begin within this time are prefetched. */
const aheadMs = 250;
/** A delivery that has not begun after this time is requeued. */
const waitMs = 500;
/** The maximum number of bytes of bodies in the buffer. */
const maxBytes = 16 * 1_024 * 1_024;
/** Limited because after a crash all prefetched deliveries are rescued in one transaction. */
const maxPrefetched = 1_000;
/** A timer that is this many milliseconds late means that the event loop was blocked: nothing could begin. */
const lateMs = 100;
// Durations are measured in real time, not by the receiver's clock.
const realTime: Clock = { now: () => performance.now(), setTimeout, clearTimeout };

/** The deliveries that a consumer has leased and not begun: while work is short, waiting in the file would cost another write. */
export class PrefetchBuffer {
  readonly #onOverdue: () => void;
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];
  readonly #pace = new Pace();
  #bytes = 0;
  #timer: unknown;

  /** `onOverdue` is called when the first of them has waited for too long. */
  constructor(onOverdue: () => void, clock: Clock = realTime) {
    this.#onOverdue = onOverdue;
    this.#clock = clock;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** The number of deliveries to prefetch for this concurrency. */
  target(concurrency: number): number {
    if (!this.#pace.isShort || this.#bytes >= maxBytes) return 0;
    return Math.min(
      Math.round((concurrency * aheadMs) / Math.max(this.#pace.averageMs, 1)),
      maxPrefetched,
    );
  }

  noteDuration(ms: number): void {
    this.#pace.note(ms);
  }

  push(leased: Leased): void {
    this.#waiting.push({ leased, since: this.#clock.now() });
    this.#bytes += bytesOf(leased);
    this.#watch();
  }

  shift(): Leased | undefined {
    const leased = this.#waiting.shift()?.leased;
    if (leased !== undefined) this.#bytes -= bytesOf(leased);
    return leased;
  }

  /** Takes all out; nothing is prefetched again before work is known to be short. */
  clear(): readonly Leased[] {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#bytes = 0;
    this.#pace.forget();
    return this.#waiting.splice(0).map(({ leased }) => leased);
  }

  #watch(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#timer !== undefined) return;
    const at = Math.ceil(first.since + waitMs);
    this.#timer = setUnrefTimeout(this.#clock, () => this.#check(at), at - this.#clock.now());
  }

  #check(at: number): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    if (now - at >= lateMs) for (const waiting of this.#waiting) waiting.since = now;
    const [first] = this.#waiting;
    if (first !== undefined && now - first.since >= waitMs) this.#onOverdue();
    else this.#watch();
  }
}

function bytesOf({ stored }: Leased): number {
  return stored.body?.byteLength ?? 0;
}
