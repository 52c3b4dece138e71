/** The timers of a clock. */
export interface Timers {
  /** Calls `callback` once after `ms` milliseconds; returns what `clearTimeout` takes. */
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** Where time comes from; give one to run a receiver on virtual time. */
export interface Clock extends Timers {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The system's clock; looks the globals up at each call, so that test runners can replace them. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimeout: (callback, ms) => setTimeout(callback, ms),
  clearTimeout: (timer) => clearTimeout(timer as number),
};

/** Like `clock.setTimeout`, but the timer alone keeps no process alive. */
export function setUnrefTimeout(clock: Timers, callback: () => void, ms: number): unknown {
  const timer = clock.setTimeout(callback, Math.min(Math.max(ms, 0), 2_147_483_647));
  (timer as { unref?: () => void } | undefined)?.unref?.();
  return timer;
}

/** Subtracts up to a quarter of a delay at random, so that attempts that failed together are not repeated together. */
export function jitter(ms: number): number {
  return Math.round(ms * (1 - Math.random() / 4));
}
