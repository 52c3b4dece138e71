import { setUnrefTimeout } from "./clock.ts";
import type { LivedClock } from "./lived-clock.ts";
import { isTiedToRequests } from "./platform.ts";
import { tickMs } from "./running-time.ts";
import { settlesWithin } from "./timeout.ts";

/** One moment by lived time and by the wall clock, in milliseconds since the epoch. */
export interface TimeMark {
  readonly livedAt: number;
  readonly wallAt: number;
  /** Milliseconds by which retention is held back: so much of the lived time may never have passed. */
  readonly heldMs: number;
}

/** A store that keeps the time between processes. */
export interface TimeStore {
  /**
   * Keeps a mark unless the one that it has is later in lived time, and the larger `heldMs`; resolves to what it has then. In the
   * beginning it has {@link noMark}.
   */
  keepTime?(mark: TimeMark): Promise<TimeMark>;
}

/** The mark of a new store. */
export const noMark: TimeMark = { livedAt: 0, wallAt: 0, heldMs: 0 };

/** The mark to keep of two. */
export function laterMark(one: TimeMark, other: TimeMark): TimeMark {
  const later = other.livedAt >= one.livedAt ? other : one;
  return { ...later, heldMs: Math.max(one.heldMs, other.heldMs) };
}

const quietMs = 3_600_000;
const endMs = 1_000;

/** Has a clock live through the time of a store: from process to process, and together with others. */
export class Timekeeper {
  /** Called when the store can't keep the time. */
  onError: ((error: unknown) => void) | undefined;
  isJoined = false;
  readonly clock: LivedClock;
  readonly #store: TimeStore;
  #joining: Promise<void> | undefined;
  #timer: unknown;
  #keeping = false;
  #hasNews = false;
  #startedAt = 0;
  #offset = 0;
  /** How much of the lived time passed between two processes, by the wall clock alone. */
  #unseenMs = 0;
  #heldMs = 0;

  constructor(clock: LivedClock, store: TimeStore) {
    this.clock = clock;
    this.#store = store;
  }

  /**
   * Continues the lived time of the store: what the wall clock has gained since its last mark has passed, what it has lost has not.
   * Idempotent; rejects as the store does.
   */
  join(): Promise<void> {
    this.#joining ??= this.#join().catch((error: unknown) => {
      this.#joining = undefined;
      throw error;
    });
    return this.#joining;
  }

  /** Has the time kept each minute, and at each step of the wall clock. */
  begin(): void {
    this.#startedAt = this.clock.now();
    void this.keep();
    if (isTiedToRequests() || this.clock.isReplaced) return;
    this.clock.tick();
    this.#tickLater();
  }

  /** Keeps the time for the next process. Never rejects, and takes a second at most. */
  async end(): Promise<void> {
    this.clock.clearTimeout(this.#timer);
    this.clock.endTicks();
    if (this.isJoined) await settlesWithin(this.clock, endMs, this.keep());
  }

  /** Whether the start, whose clock nobody knows, is less than an hour ago: until then retention is not judged. */
  get isYoung(): boolean {
    return this.clock.now() - this.#startedAt < quietMs;
  }

  /** The lived time at which retention is judged. */
  get retentionNow(): number {
    return this.clock.now() - this.#held();
  }

  /** Keeps the time now. Never rejects. */
  async keep(): Promise<void> {
    this.#hasNews = true;
    if (this.#keeping || !this.isJoined) return;
    this.#keeping = true;
    try {
      while (this.#hasNews) {
        this.#hasNews = false;
        await this.#write();
      }
    } catch (error) {
      this.onError?.(error);
    } finally {
      this.#keeping = false;
    }
  }

  async #join(): Promise<void> {
    const clock = this.clock;
    const mark = (await this.#store.keepTime?.(noMark)) ?? null;
    const wall = clock.wallNow();
    if (mark !== null && mark.wallAt > 0) {
      this.#unseenMs = Math.max(0, wall - mark.wallAt);
      clock.goOnFrom(mark.livedAt + this.#unseenMs);
      this.#heldMs = mark.heldMs;
    } else if (mark === null) this.#unseenMs = Number.POSITIVE_INFINITY;
    this.#offset = clock.wallOffset;
    this.#startedAt = clock.now();
    this.isJoined = true;
  }

  async #write(): Promise<void> {
    const clock = this.clock;
    const wallAt = clock.wallNow();
    const mark = { livedAt: clock.now(), wallAt, heldMs: this.#held() };
    const kept = await this.#store.keepTime?.(mark);
    if (kept === undefined) return;
    this.#heldMs = Math.max(this.#heldMs, kept.heldMs);
    const aheadMs = kept.livedAt - clock.now();
    if (aheadMs <= 0) return;
    clock.goOnFrom(kept.livedAt);
    this.#offset -= aheadMs;
    // Another process has begun with a clock that was ahead: so much has not passed.
    if (clock.knownSince === kept.livedAt) this.#heldMs += aheadMs;
  }

  /** A wall clock that was set back since the start was ahead at the start: then less has passed unseen. */
  #held(): number {
    const backMs = Math.max(0, this.#offset - this.clock.wallOffset);
    const wrongMs = Math.min(backMs, this.#unseenMs);
    this.#unseenMs -= wrongMs;
    this.#offset -= wrongMs;
    this.#heldMs += wrongMs;
    return this.#heldMs;
  }

  #tickLater(): void {
    this.#timer = setUnrefTimeout(this.clock, this.#tick, tickMs);
  }

  readonly #tick = (): void => {
    this.#tickLater();
    this.clock.tick();
    void this.keep();
  };
}
