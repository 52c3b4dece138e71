/** A timer of the virtual clock. `unref()` lets the process end before it fires, `ref()` reverts that. */
export interface VirtualTimer {
  ref(): VirtualTimer;
  unref(): VirtualTimer;
}

/**
 * Real time plus an offset; that the system's clock is set changes nothing. It fits the receiver's option `clock`: `createReceiver({ clock: emulator.clock })`
 * advances both with one call.
 */
export interface VirtualClock {
  /** Milliseconds since 1970, like `Date.now()` until the system's clock is set. */
  now(): number;
  /**
   * Increases the offset and fires, in order, every timer that becomes due.
   *
   * @throws TypeError if `ms` is not a number ≥ 0.
   * @example
   * emulator.clock.advance(5 * 60_000); // signatures made before are expired
   */
  advance(ms: number): void;
  /** Calls back after `ms` milliseconds, real or advanced. */
  setTimeout(callback: () => void, ms: number): VirtualTimer;
  /** Stops a timer of this clock; anything else is ignored. */
  clearTimeout(timer: unknown): void;
}

interface Scheduled extends VirtualTimer {
  due: number;
  keepsAlive: boolean;
  handle: ReturnType<typeof setTimeout> | undefined;
  readonly callback: () => void;
}

/** Maximum delay of the runtime's timers; beyond it they fire immediately. */
const LONGEST_MS = 2 ** 31 - 1;
/** Milliseconds by which the system's clock may gain or lose between two readings before it was set. */
const SLACK_MS = 30_000;

/** Creates a clock; `rewind` removes the offset and keeps the remaining time of each timer. */
export function createClock(): { clock: VirtualClock; rewind(): void } {
  const timers = new Timers();
  return {
    clock: {
      now: () => timers.now(),
      advance: (ms) => timers.advance(ms),
      setTimeout: (callback, ms) => timers.set(callback, ms),
      clearTimeout: (timer) => timers.clear(timer),
    },
    rewind: () => timers.rewind(),
  };
}

/** Time as it runs: the system's clock, but for the moments at which that was set, or the machine slept. */
class RealTime {
  #wall = Date.now();
  #ran: number = performance.now();
  #setMs = 0;

  now(): number {
    const [wall, ran] = [Date.now(), performance.now()];
    const setMs = wall - this.#wall - (ran - this.#ran);
    // Time of a test runner passes as it says.
    if (Math.abs(setMs) > SLACK_MS && !isReplaced(globalThis.setTimeout)) this.#setMs += setMs;
    this.#wall = wall;
    this.#ran = ran;
    return Math.round(wall - this.#setMs);
  }
}

/** Whether a timer is a test runner's: Sinon, Jest and Vitest mark theirs, that of node:test is a bound private method. */
function isReplaced(timer: { readonly name: string }): boolean {
  return "clock" in timer || "_isMockFunction" in timer || timer.name.startsWith("bound #");
}

/** The timers of a clock, and its offset. */
class Timers {
  readonly #scheduled = new Set<Scheduled>();
  readonly #real = new RealTime();
  #offset = 0;

  now(): number {
    return this.#real.now() + this.#offset;
  }

  advance(ms: number): void {
    if (!(Number.isFinite(ms) && ms >= 0)) {
      throw new TypeError(`advance() takes milliseconds ≥ 0, not ${String(ms)}`);
    }
    const target = this.now() + ms;
    for (let next = this.#earliest(); next && next.due <= target; next = this.#earliest()) {
      this.#offset += Math.max(0, next.due - this.now());
      this.#fire(next);
    }
    this.#offset += Math.max(0, target - this.now());
    for (const timer of this.#scheduled) this.#arm(timer);
  }

  set(callback: () => void, ms: number): VirtualTimer {
    const timer: Scheduled = {
      // At least 1 ms, as in Node: a callback that sets the next timer cannot stop advance().
      due: this.now() + Math.max(1, ms),
      keepsAlive: true,
      handle: undefined,
      callback,
      ref: () => keep(timer, true),
      unref: () => keep(timer, false),
    };
    this.#scheduled.add(timer);
    this.#arm(timer);
    return timer;
  }

  clear(timer: unknown): void {
    if (this.#scheduled.has(timer as Scheduled)) this.#cancel(timer as Scheduled);
  }

  rewind(): void {
    for (const timer of this.#scheduled) timer.due -= this.#offset;
    this.#offset = 0;
  }

  #fire(timer: Scheduled): void {
    this.#cancel(timer);
    timer.callback();
  }

  #cancel(timer: Scheduled): void {
    clearTimeout(timer.handle);
    this.#scheduled.delete(timer);
  }

  #arm(timer: Scheduled): void {
    clearTimeout(timer.handle);
    const ms = Math.max(0, timer.due - this.now());
    const due = (): void => (ms > LONGEST_MS ? this.#arm(timer) : this.#fire(timer));
    timer.handle = setTimeout(due, Math.min(ms, LONGEST_MS));
    if (!timer.keepsAlive) hold(timer.handle, false);
  }

  #earliest(): Scheduled | undefined {
    let first: Scheduled | undefined;
    for (const timer of this.#scheduled) if (!first || timer.due < first.due) first = timer;
    return first;
  }
}

function keep(timer: Scheduled, alive: boolean): VirtualTimer {
  timer.keepsAlive = alive;
  hold(timer.handle, alive);
  return timer;
}

// Deno and workerd return numbers, which have neither ref nor unref.
function hold(handle: unknown, alive: boolean): void {
  const timer = handle as { ref?(): void; unref?(): void } | undefined;
  if (alive) timer?.ref?.();
  else timer?.unref?.();
}
