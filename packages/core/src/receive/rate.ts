import type { Clock } from "../lib/time/clock.ts";

/** Permits `perSecond` calls in any second: false for one more. */
export function createRate(clock: Clock, perSecond: number): () => boolean {
  const lately: number[] = [];
  return () => {
    const now = clock.now();
    const [oldest] = lately;
    if (lately.length === perSecond && oldest !== undefined) {
      if (now - oldest < 1_000) return false;
      lately.shift();
    }
    lately.push(now);
    return true;
  };
}
