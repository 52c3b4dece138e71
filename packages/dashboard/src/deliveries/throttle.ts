/** The part of its time that the store may spend on summaries for the dashboard. */
const share = 1 / 20;
const minMs = 1_000;

/** Asks again only after a second, or after twenty times as long as the last answer took. */
export function throttle<T>(ask: () => Promise<T>): () => Promise<T> {
  let last: Promise<T> | undefined;
  let next = 0;
  return () => {
    if (last !== undefined && performance.now() < next) return last;
    const began = performance.now();
    next = Number.POSITIVE_INFINITY;
    last = ask().finally(() => {
      const ended = performance.now();
      next = ended + Math.max(minMs, (ended - began) / share);
    });
    last.catch(() => {
      last = undefined;
    });
    return last;
  };
}
