import type { Look } from "./views.ts";

const everyMs = 1_000;
const lateMs = 15_000;
/** The part of the app's time that all pages together may cost. */
const share = 1 / 20;

/** Reads data for all pages: once for pages with the same view. */
export interface Looks {
  /** Joins the pages that show what `key` names, until it leaves. */
  join(key: string, look: Look): Shown;
}

/** The data of a page, shared with others. */
export interface Shown {
  /** The last that was seen; null at first, and after a look that failed. */
  readonly seen: string | null;
  /** Resolves after the next look; rejects when nothing can be seen any more. */
  next(): Promise<void>;
  leave(): void;
}

interface Subject {
  readonly look: Look;
  pages: number;
  seen: string | null;
  looking: Promise<void> | undefined;
}

/** Reads once a second, or less often if it takes too much time; `isOver` ends it for all. */
export function createLooks(isOver: () => Promise<boolean>): Looks {
  return new SharedLooks(isOver);
}

class SharedLooks implements Looks {
  readonly #isOver: () => Promise<boolean>;
  // In the order of the last read, oldest first.
  readonly #subjects = new Map<string, Subject>();
  #beating: Promise<void> | undefined;
  #leftMs = 0;
  #countedAt = performance.now();

  constructor(isOver: () => Promise<boolean>) {
    this.#isOver = isOver;
  }

  join(key: string, look: Look): Shown {
    const subject = this.#subjects.get(key) ?? { look, pages: 0, seen: null, looking: undefined };
    this.#subjects.set(key, subject);
    subject.pages++;
    return {
      get seen() {
        return subject.seen;
      },
      next: async () => {
        await (subject.seen === null ? this.#lookFirst(subject) : this.#nextBeat());
        if (subject.seen === null) throw new Error("The look failed");
      },
      leave: () => {
        subject.pages--;
        if (subject.pages === 0) this.#subjects.delete(key);
      },
    };
  }

  async #lookFirst(subject: Subject): Promise<void> {
    await this.#checkOpen();
    if (subject.pages > 0) await this.#lookAt(subject);
  }

  #nextBeat(): Promise<void> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined;
    });
    return this.#beating;
  }

  async #beat(): Promise<void> {
    await pause(everyMs);
    // Without viewers the inbox may be closed: a query would open it again.
    if (this.#subjects.size === 0) return;
    await this.#checkOpen();
    const now = performance.now();
    const earned = Math.max(this.#leftMs, -lateMs * share) + (now - this.#countedAt) * share;
    this.#leftMs = Math.min(earned, everyMs * share);
    this.#countedAt = now;
    for (const [key, subject] of [...this.#subjects]) {
      if (this.#leftMs <= 0) return;
      if (this.#subjects.get(key) !== subject || subject.looking !== undefined) continue;
      this.#subjects.delete(key);
      this.#subjects.set(key, subject);
      // A slow one holds the others up only so long.
      await inTime(this.#lookAt(subject), everyMs).catch(() => {});
    }
  }

  #lookAt(subject: Subject): Promise<void> {
    const began = performance.now();
    subject.looking ??= inTime(subject.look())
      .catch(() => null)
      .then((seen) => {
        subject.seen = seen;
        subject.looking = undefined;
        // The others do not pay for one that fails.
        if (seen !== null) this.#leftMs -= performance.now() - began;
      });
    return subject.looking;
  }

  async #checkOpen(): Promise<void> {
    if (await inTime(this.#isOver())) throw new Error("The receiver is closing");
  }
}

/** Rejects if the answer is too late. */
async function inTime<T>(looked: Promise<T>, ms = lateMs): Promise<T> {
  const late = pause(ms);
  try {
    return await Promise.race([looked, late.then(() => Promise.reject(new Error("No answer")))]);
  } finally {
    late.end();
  }
}

/** Keeps no process alive. */
function pause(ms: number): Promise<void> & { end(): void } {
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    (timer as { unref?: () => void }).unref?.();
    end = () => clearTimeout(timer);
  });
  return Object.assign(over, { end });
}
