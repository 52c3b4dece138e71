/** A timer of the virtual clock. `unref()` lets the process end before it fires, `ref()` reverts that. */
export interface VirtualTimer {
  ref(): VirtualTimer;
  unref(): VirtualTimer;
}

/**
 * Real time plus an offset. It fits the receiver's option `clock`: `createReceiver({ clock: emulator.clock })`
 * advances both with one call.
 */
export interface VirtualClock {
  /** Milliseconds since 1970, like `Date.now()`. */
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

/** Creates a clock; `rewind` removes the offset and keeps the remaining time of each timer. */
export function createClock(): { clock: VirtualClock; rewind(): void } {
  const timers = new Set<Scheduled>();
  let offset = 0;

  const now = (): number => Date.now() + offset;

  function fire(timer: Scheduled): void {
    cancel(timer);
    timer.callback();
  }

  function cancel(timer: Scheduled): void {
    clearTimeout(timer.handle);
    timers.delete(timer);
  }

  function arm(timer: Scheduled): void {
    clearTimeout(timer.handle);
    const ms = Math.max(0, timer.due - now());
    timer.handle = setTimeout(
      () => (ms > LONGEST_MS ? arm : fire)(timer),
      Math.min(ms, LONGEST_MS),
    );
    if (!timer.keepsAlive) hold(timer.handle, false);
  }

  function earliest(): Scheduled | undefined {
    let first: Scheduled | undefined;
    for (const timer of timers) if (!first || timer.due < first.due) first = timer;
    return first;
  }

  const clock: VirtualClock = {
    now,
    advance(ms) {
      if (!(Number.isFinite(ms) && ms >= 0)) {
        throw new TypeError(`advance() takes milliseconds ≥ 0, not ${String(ms)}`);
      }
      const target = now() + ms;
      for (let next = earliest(); next && next.due <= target; next = earliest()) {
        offset += Math.max(0, next.due - now());
        fire(next);
      }
      offset += Math.max(0, target - now());
      for (const timer of timers) arm(timer);
    },
    setTimeout(callback, ms) {
      const timer: Scheduled = {
        // At least 1 ms, as in Node: a callback that sets the next timer cannot stop advance().
        due: now() + Math.max(1, ms),
        keepsAlive: true,
        handle: undefined,
        callback,
        ref: () => keep(timer, true),
        unref: () => keep(timer, false),
      };
      timers.add(timer);
      arm(timer);
      return timer;
    },
    clearTimeout(timer) {
      if (timers.has(timer as Scheduled)) cancel(timer as Scheduled);
    },
  };

  return {
    clock,
    rewind() {
      for (const timer of timers) timer.due -= offset;
      offset = 0;
    },
  };
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
