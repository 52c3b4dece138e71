import { type Clock, systemClock } from "./clock.ts";
import { isReplaced } from "./real-timers.ts";

/** Milliseconds between two ticks, which tell a clock that runs from one that was set. */
export const tickMs = 60_000;
/** Milliseconds by which clocks may differ before one of them was set. */
export const slackMs = 30_000;
/** Timers may come early by so many milliseconds, for the runtime reads the time once in a turn of the event loop. */
const earlyMs = 50;
/** Shorter timers do not tell whether they are virtual. */
const tellingMs = 500;

/** The system's time, which only runs on: `performance.now()`, and `Date.now()` while a test runner has replaced the timers. */
export class SystemTime {
  /** Changes when the time has another source; null while no clock is to be compared with it. */
  era: number | null = null;
  #eras = 0;
  #timer: unknown;
  #shift = 0;
  #last = 0;

  /** Milliseconds since some moment: never fewer than before. */
  read(): number {
    if (globalThis.setTimeout !== this.#timer) this.#change();
    const time = this.#source() + this.#shift;
    if (time < this.#last) this.#shift += this.#last - time;
    else this.#last = time;
    return this.#last;
  }

  tick(): void {
    this.read();
  }

  setTimeout(callback: () => void, ms: number): unknown {
    return systemClock.setTimeout(callback, ms);
  }

  #source(): number {
    return this.era === null ? Date.now() : performance.now();
  }

  #change(): void {
    const timer = globalThis.setTimeout;
    this.#timer = timer;
    this.era = isReplaced(timer as Parameters<typeof isReplaced>[0]) ? null : this.#eras++;
    this.#shift = this.#last - this.#source();
  }
}

/**
 * The same of a given clock, whose timers tell whether it was set: a reading that is earlier than the last one, or later than a tick
 * and the running time of the process allow, continues from the last one.
 */
export class GivenTime {
  readonly era = 0;
  readonly #clock: Clock;
  #shift = 0;
  #last = Number.NaN;
  /** The part of the shift that timers made which did not tell: it is taken back if the next one does. */
  #doubted = 0;
  #anchor = { reading: 0, ranMs: 0 };
  #latest: number = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(): number {
    const reading = this.#clock.now();
    if (reading < this.#last || reading > this.#latest) this.#judge(reading);
    this.#last = reading;
    return reading + this.#shift;
  }

  /** From now on there is a tick at least each minute; this is one. */
  tick(): void {
    this.read();
    this.#doubted = 0;
    this.#anchorAt(this.#last);
  }

  setTimeout(callback: () => void, ms: number): unknown {
    const [ranMs, firesAt] = [performance.now(), this.read() + ms];
    const fire = (): void => {
      const isSooner = performance.now() - ranMs < ms / 2;
      const isVirtual = ms >= tellingMs && isSooner;
      // Sooner than in real time: the timers are virtual, and the clock alone knows the time.
      if (isVirtual) this.#believe();
      const shift = this.#shift;
      // After a step less was read than has passed, and nothing where the clock stands still.
      const missedMs = firesAt - this.read();
      if (missedMs > earlyMs || (missedMs >= ms && !isSooner)) this.#shift += missedMs;
      if (!isVirtual) this.#doubt(this.#shift - shift);
      callback();
    };
    return this.#clock.setTimeout(fire, ms);
  }

  /** A virtual clock may pass hours, and a short timer be the first to fire. */
  #doubt(ms: number): void {
    if (ms < 0 || this.#doubted < 0) this.#doubted += ms;
  }

  #believe(): void {
    if (this.#latest === Number.POSITIVE_INFINITY) return;
    this.#latest = Number.POSITIVE_INFINITY;
    this.read();
    this.#shift -= this.#doubted;
    this.tick();
  }

  #judge(reading: number): void {
    const { reading: anchor, ranMs } = this.#anchor;
    // If the process stood still, its ticks are late.
    const passedMs = Math.max(tickMs, performance.now() - ranMs);
    const isSet = reading < this.#last || reading - anchor > passedMs + slackMs;
    if (isSet) this.#shift += this.#last - reading;
    if (reading < this.#last) this.#doubted = 0;
    if (this.#latest !== Number.POSITIVE_INFINITY) this.#anchorAt(reading);
  }

  #anchorAt(reading: number): void {
    this.#anchor = { reading, ranMs: performance.now() };
    this.#latest = reading + tickMs + slackMs;
  }
}
