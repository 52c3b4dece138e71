import type { LivedClock } from "../lib/time/lived-clock.ts";

// For the work of a process: the inbox limits the stored ones.
const perSecond = 10;

/** Permits 10 calls in any second: false for one more. By running time: it is asked before lived time is joined, too. */
export function createRate(clock: Pick<LivedClock, "running">): () => boolean {
  const lately: number[] = [];
  return () => {
    const now = clock.running();
    const [oldest] = lately;
    if (lately.length === perSecond && oldest !== undefined) {
      if (now - oldest < 1_000) return false;
      lately.shift();
    }
    lately.push(now);
    return true;
  };
}
