import { clearTimeout, setTimeout } from "node:timers";
import type { Clock } from "@reporthook/core";
import { quietTimeout } from "@reporthook/core/store";
import type { Leased } from "../protocol/results.ts";

interface Waiting extends Leased {
  /** Since when, or since the event loop stood still. */
  since: number;
}

/** While work takes less on average, in milliseconds, more is leased ahead: what waits in the file is written once more. */
const shortMs = 5;
/** As much as is likely to begin within this time, in milliseconds. */
const aheadMs = 250;
/** But nothing that has not begun after so long stays. */
const mostMs = 500;
/** With so much of bodies nothing more is leased ahead. */
const mostBytes = 16 * 1_024 * 1_024;
/** Nor more than so many: after a crash they are taken back in one transaction. */
const most = 1_000;
/** When a timer comes so late, in milliseconds, the event loop stood still: nothing could begin. */
const lateMs = 100;
// How long work takes is a matter of real time, whatever the receiver's clock says.
const realTime: Clock = { now: () => performance.now(), setTimeout, clearTimeout };

/** What a lane has leased and not begun. */
export class Ahead {
  readonly #giveBack: () => void;
  readonly #clock: Clock;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #averageMs = 2 * shortMs;
  #timer: unknown;

  /** `giveBack` is called when the first of them has waited for too long. */
  constructor(giveBack: () => void, clock: Clock = realTime) {
    this.#giveBack = giveBack;
    this.#clock = clock;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** How many to lease ahead, while so many are worked on at once. */
  wanted(concurrency: number): number {
    if (this.#averageMs >= shortMs || this.#bytes >= mostBytes) return 0;
    return Math.min(Math.round((concurrency * aheadMs) / Math.max(this.#averageMs, 1)), most);
  }

  /** Takes in how long one took. */
  took(ms: number): void {
    this.#averageMs += (ms - this.#averageMs) / 10;
  }

  push(leased: Leased): void {
    this.#waiting.push({ ...leased, since: this.#clock.now() });
    this.#bytes += bytesOf(leased);
    this.#watch();
  }

  /** Takes the first one out. */
  shift(): Leased | undefined {
    const first = this.#waiting.shift();
    if (first !== undefined) this.#bytes -= bytesOf(first);
    return first;
  }

  /** Takes all out; nothing is leased ahead again before it is known to be short. */
  clear(): readonly Leased[] {
    this.#clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#bytes = 0;
    this.#averageMs = 2 * shortMs;
    return this.#waiting.splice(0);
  }

  #watch(): void {
    const [first] = this.#waiting;
    if (first === undefined || this.#timer !== undefined) return;
    const at = Math.ceil(first.since + mostMs);
    this.#timer = quietTimeout(this.#clock, () => this.#look(at), at - this.#clock.now());
  }

  #look(at: number): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    if (now - at >= lateMs) for (const waiting of this.#waiting) waiting.since = now;
    const [first] = this.#waiting;
    if (first !== undefined && now - first.since >= mostMs) this.#giveBack();
    else this.#watch();
  }
}

function bytesOf({ kept }: Leased): number {
  return kept.body?.byteLength ?? 0;
}
