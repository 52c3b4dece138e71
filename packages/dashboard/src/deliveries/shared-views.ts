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
  readonly count: number;
  inTurn<T>(read: () => Promise<T>): Promise<T>;
}

const alone: Together = { count: 1, inTurn: (read) => read() };

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
    next = ended + Math.max(freshMs, ((ended - began) * together.count) / share);
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

/** The views of all pages: each is read for all pages that show it, and ends for them when it can't be read in time. */
export class SharedViews implements Together {
  readonly #isOver: () => Promise<boolean>;
  readonly #shown = new Map<string, { readonly read: View; pages: number }>();
  #turn: Promise<unknown> = Promise.resolve();

  /** `isOver` ends all views. */
  constructor(isOver: () => Promise<boolean>) {
    this.#isOver = isOver;
  }

  get count(): number {
    return this.#shown.size;
  }

  /** Joins the pages that show what `key` names, until it leaves. */
  join(key: string, view: View): { readonly read: View; leave(): void } {
    const read = throttle(() => this.#read(key, view), secondMs, this);
    const shown = this.#shown.get(key) ?? { read, pages: 0 };
    this.#shown.set(key, shown);
    shown.pages++;
    return {
      read: shown.read,
      leave: () => {
        shown.pages--;
        if (shown.pages === 0) this.#shown.delete(key);
      },
    };
  }

  inTurn<T>(read: () => Promise<T>): Promise<T> {
    const before = this.#turn;
    const result = before.then(read);
    // A slow one holds the others up only so long.
    this.#turn = before.then(() => inTime(result, turnMs)).catch(() => {});
    return inTime(result, lateMs);
  }

  async #read(key: string, view: View): Promise<string> {
    if (!this.#shown.has(key)) throw new Error("All pages have left");
    // A query would open a closed inbox again.
    if (await this.#isOver()) throw new Error("The receiver is closing");
    return view();
  }
}

/** Rejects if it takes longer. */
function inTime<T>(reading: Promise<T>, ms: number): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const late = setUnrefTimeout(systemClock, () => reject(new Error("No answer")), ms);
    reading.then(resolve, reject).finally(() => systemClock.clearTimeout(late));
  });
}
