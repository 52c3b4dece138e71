import { setUnrefTimeout, systemClock } from "@reporthook/core/store";

/** Reads the current data of a view, as JSON for all viewers. */
export type View = () => Promise<string>;

/** The part of the time that may be spent on reading. */
const share = 1 / 20;
// Timers of a second may be a little early.
const secondMs = 990;
const turnMs = 1_000;
const lateMs = 15_000;

/** Reads that share their part of the time, one after the other. */
interface Together {
  readonly count: () => number;
  readonly inTurn: <T>(read: () => Promise<T>) => Promise<T>;
}

const alone: Together = { count: () => 1, inTurn: (read) => read() };

/** Reads again only after a second or `freshMs`, or after twenty times as long as the last time took; once for all who ask meanwhile. */
export function throttle<T>(
  read: () => Promise<T>,
  freshMs: number = secondMs,
  together: Together = alone,
): () => Promise<T> {
  let last: Promise<T> | undefined;
  let next = 0;
  const timed = async (): Promise<T> => {
    const began = performance.now();
    const result = await read();
    const ended = performance.now();
    next = ended + Math.max(freshMs, ((ended - began) * together.count()) / share);
    return result;
  };
  return () => {
    if (last !== undefined && performance.now() < next) return last;
    next = Number.POSITIVE_INFINITY;
    last = together.inTurn(timed);
    last.catch(() => {
      last = undefined;
    });
    return last;
  };
}

/**
 * Creates what joins a page to those that show what `key` names, until it is gone. Each view is read for all pages that show it, and
 * ends for them when it can't be read in time.
 */
export function shareViews(): (key: string, view: View, gone: AbortSignal) => View {
  const shown = new Map<string, { readonly read: View; pages: number }>();
  let turn: Promise<unknown> = Promise.resolve();
  const together: Together = {
    count: () => shown.size,
    inTurn(read) {
      const before = turn;
      const result = before.then(read);
      // A slow one holds the others up only so long.
      turn = before.then(() => inTime(result, turnMs)).catch(() => {});
      return inTime(result, lateMs);
    },
  };

  return (key, view, gone) => {
    // Nobody sees what is read once all pages have left.
    const readIfShown = async (): Promise<string> => (shown.has(key) ? view() : "");
    const joined = shown.get(key) ?? { read: throttle(readIfShown, secondMs, together), pages: 0 };
    shown.set(key, joined);
    joined.pages++;
    const leave = (): void => {
      joined.pages--;
      if (joined.pages === 0) shown.delete(key);
    };
    gone.addEventListener("abort", leave, { once: true });
    return joined.read;
  };
}

/** Rejects if it takes longer. */
function inTime<T>(reading: Promise<T>, ms: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const late = setUnrefTimeout(systemClock, () => reject(new Error("No answer")), ms);
    reading.then(resolve, reject).finally(() => systemClock.clearTimeout(late));
  });
}
