import type { Clock } from "../lib/time/clock.ts";

// For the work of a process: the inbox limits the stored ones.
const perSecond = 10;

/** Permits 10 calls in any second: false for one more. */
export function createRate(clock: Clock): () => boolean {
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
