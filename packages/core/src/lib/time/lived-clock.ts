import { type Clock, systemClock } from "./clock.ts";
import { GivenTime, SystemTime, slackMs } from "./running-time.ts";

/** The clock that an inbox goes by: `now()` is lived time, which only runs on when the wall clock is set. */
export interface InboxClock extends Clock {
  /** Milliseconds to add to lived time for what people see. */
  readonly wallOffset: number;
  /** The lived time since which this process has seen time pass: before it, less may have passed. */
  readonly knownSince: number;
}

/** The clock of a receiver, made of the option `clock`: all that is decided and stored goes by its lived time. */
export class LivedClock implements InboxClock {
  /** Called when the wall clock was set by so many milliseconds, or the machine slept. */
  onStep: ((ms: number) => void) | undefined;
  knownSince = 0;
  readonly #given: Clock;
  readonly #time: SystemTime | GivenTime;
  #base: number;
  #offset = 0;
  #era: number | null;

  constructor(given: Clock = systemClock) {
    this.#given = given;
    this.#time = given === systemClock ? new SystemTime() : new GivenTime(given);
    this.#base = this.#wall() - this.#time.read();
    this.#era = this.#time.era;
  }

  /** Whether its time is that of a test runner. */
  get isReplaced(): boolean {
    return this.#time.era === null;
  }

  now(): number {
    return Math.floor(this.#time.read() + this.#base);
  }

  /** Milliseconds that have run since some moment; {@link goOnFrom} does not change it. */
  running(): number {
    return Math.floor(this.#time.read());
  }

  get wallOffset(): number {
    return this.#wall() - this.now();
  }

  /** Milliseconds since the epoch, as the wall clock shows; notices that it was set. */
  wallNow(): number {
    const wall = this.#wall();
    const offset = wall - this.now();
    const ms = offset - this.#offset;
    const { era } = this.#time;
    const isSet = Math.abs(ms) > slackMs && era !== null && era === this.#era;
    this.#offset = offset;
    this.#era = era;
    if (isSet) this.onStep?.(ms);
    return wall;
  }

  /** Continues from this lived time, of which so many milliseconds have passed unseen. */
  goOnFrom(lived: number, unseenMs: number): void {
    this.#base += lived - this.now();
    if (unseenMs > slackMs) this.knownSince = lived;
    this.#offset = this.wallOffset;
  }

  /** Called each minute, from the start of the work on. */
  tick(): void {
    this.#time.tick();
    this.wallNow();
  }

  setTimeout(callback: () => void, ms: number): unknown {
    return this.#time.setTimeout(callback, ms);
  }

  clearTimeout(timer: unknown): void {
    if (timer !== undefined) this.#given.clearTimeout(timer);
  }

  #wall(): number {
    return Math.floor(this.#given.now());
  }
}
