import { isTiedToRequests } from "../lib/platform.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { slackMs, tickMs } from "../lib/time/running-time.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { hourMs } from "../lib/time/units.ts";
import type { Inbox, TimeMark } from "./inbox.ts";

/** The mark of a new inbox. */
export const noMark: TimeMark = { livedAt: 0, wallAt: 0, furthestAt: 0, unseenMs: 0, heldMs: 0 };

/** The mark to keep of two. */
export function laterMark(one: TimeMark, other: TimeMark): TimeMark {
  const later = other.livedAt >= one.livedAt ? other : one;
  return { ...later, heldMs: Math.max(one.heldMs, other.heldMs) };
}

const muchMs = 300_000;
const endMs = 1_000;

/**
 * Has a clock live through the time of an inbox: from process to process, and together with others.
 *
 * Say a process ends at 10:00, by lived time and by the wall clock. The next one begins when the wall clock shows
 * - 10:05: lived time goes on from 10:05.
 * - 09:00: lived time goes on from 10:00, for it never goes back.
 * - 10:00 a year later: lived time goes on from there, and what waits is due. Retention is judged an hour later at the earliest; if
 *   the wall clock is set back to 10:01 by then, that year has not passed for retention (`heldMs`).
 */
export class Timekeeper {
  /** Called when the inbox can't keep the time. */
  onError: ((error: unknown) => void) | undefined;
  isJoined = false;
  readonly clock: LivedClock;
  readonly #inbox: Pick<Inbox, "keepTime">;
  #joining: Promise<void> | undefined;
  #onMinute = (): void => {};
  #timer: unknown;
  #keeping: Promise<void> | undefined;
  #hasNews = false;
  #isKept = false;
  #startedAt = 0;
  #unseenMs = 0;
  #heldMs = 0;
  /** The furthest difference of the wall clock, and since when it is nearer. */
  #furthest = 0;
  #backSince: number | null = null;

  /** The clock is the system's for a tool, which has no receiver. */
  constructor(inbox: Pick<Inbox, "keepTime">, clock: LivedClock = new LivedClock()) {
    this.#inbox = inbox;
    this.clock = clock;
  }

  /**
   * Continues the lived time of the inbox: if the wall clock has gained since its last mark, so much has passed; if it has lost,
   * nothing. Idempotent; rejects as the inbox does.
   */
  join(): Promise<void> {
    this.#joining ??= this.#join().catch((error: unknown) => {
      this.#joining = undefined;
      throw error;
    });
    return this.#joining;
  }

  /** Joins, and has the time kept once: what is due by it later may be stored then. Rejects as the inbox does. */
  async joinAndKeep(): Promise<void> {
    await this.join();
    if (this.#isKept) return;
    this.#follow();
    await this.#write();
  }

  /** Has the time kept each minute, and at each step of the wall clock; `onMinute` is called each minute. */
  begin(onMinute: () => void = () => {}): void {
    this.#onMinute = onMinute;
    this.#startedAt = this.clock.running();
    void this.keep();
    if (isTiedToRequests() || this.clock.isReplaced) return;
    this.clock.tick();
    this.#tickLater();
  }

  /** Keeps the time for the next process. Never rejects, and takes a second at most. */
  async end(): Promise<void> {
    this.clock.clearTimeout(this.#timer);
    if (this.isJoined) await settlesWithin(this.clock, endMs, this.keep());
  }

  /** Whether the start, whose clock nobody knows, is less than an hour ago: until then retention is not judged. */
  get isYoung(): boolean {
    return this.clock.running() - this.#startedAt < hourMs;
  }

  /** The lived time at which retention is judged. */
  get retentionNow(): number {
    this.#follow();
    return this.clock.now() - this.#heldMs;
  }

  /** Keeps the time now. Never rejects. */
  async keep(): Promise<void> {
    this.#hasNews = true;
    if (!this.isJoined) return;
    this.#follow();
    this.#keeping ??= this.#keep();
    await this.#keeping;
  }

  async #keep(): Promise<void> {
    try {
      while (this.#hasNews) {
        this.#hasNews = false;
        await this.#write();
      }
    } catch (error) {
      this.onError?.(error);
    }
    this.#keeping = undefined;
  }

  async #join(): Promise<void> {
    const clock = this.clock;
    const mark = (await this.#inbox.keepTime?.(noMark)) ?? null;
    const wall = clock.wallNow();
    if (mark !== null && mark.livedAt > 0) {
      const unseenMs = Math.max(0, wall - mark.furthestAt);
      this.#unseenMs = mark.unseenMs + unseenMs;
      // Also of what another process has not seen, if that is much: nobody knows how long the older ones have waited.
      clock.goOnFrom(mark.livedAt + unseenMs, mark.unseenMs > muchMs ? this.#unseenMs : unseenMs);
      this.#heldMs = mark.heldMs;
      this.#furthest = mark.furthestAt - mark.livedAt;
    } else {
      this.#unseenMs = mark === null ? Number.POSITIVE_INFINITY : 0;
      this.#furthest = clock.wallOffset;
    }
    this.#startedAt = clock.running();
    this.#follow();
    this.isJoined = true;
  }

  async #write(): Promise<void> {
    const clock = this.clock;
    const wallAt = clock.wallNow();
    const livedAt = clock.now();
    const furthestAt = livedAt + this.#furthest;
    const unseenMs = this.isYoung ? this.#unseenMs : 0;
    const mark = { livedAt, wallAt, furthestAt, unseenMs, heldMs: this.#heldMs };
    const kept = await this.#inbox.keepTime?.(mark);
    this.#isKept = true;
    if (kept === undefined) return;
    this.#heldMs = Math.max(this.#heldMs, kept.heldMs);
    const aheadMs = kept.livedAt - clock.now();
    if (aheadMs <= 0) return;
    clock.goOnFrom(kept.livedAt, aheadMs);
    this.#furthest -= aheadMs;
    // Another process has begun with a clock that was ahead: so much has not passed.
    if (aheadMs > slackMs) this.#heldMs = Math.max(this.#heldMs, aheadMs);
  }

  /**
   * Finds out whether the wall clock was set back. Then it was ahead at the start, and less has passed unseen; beyond that it is
   * believed once it has stayed so for an hour.
   */
  #follow(): void {
    const now = this.clock.running();
    const { wallOffset } = this.clock;
    if (this.#furthest - wallOffset > slackMs) {
      const wrongMs = Math.min(this.#furthest - wallOffset, this.#unseenMs);
      this.#furthest -= wrongMs;
      this.#unseenMs -= wrongMs;
      this.#heldMs += wrongMs;
    }
    const isBack = this.#furthest - wallOffset > slackMs;
    this.#backSince = isBack ? (this.#backSince ?? now) : null;
    if (this.#backSince !== null && now - this.#backSince < hourMs) return;
    this.#furthest = wallOffset;
    this.#backSince = null;
  }

  #tickLater(): void {
    this.#timer = setUnrefTimeout(this.clock, this.#tick, tickMs);
  }

  readonly #tick = (): void => {
    this.#tickLater();
    this.clock.tick();
    void this.keep();
    this.#onMinute();
  };
}
