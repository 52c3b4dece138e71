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
  /** The last that was seen; null at first. */
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
  // In the order of the last read, oldest first.
  const subjects = new Map<string, Subject>();
  let beating: Promise<void> | undefined;
  let leftMs = 0;
  let countedAt = performance.now();

  function lookAt(subject: Subject): Promise<void> {
    const began = performance.now();
    subject.looking ??= inTime(subject.look())
      .then((seen) => {
        subject.seen = seen;
      })
      .finally(() => {
        leftMs -= performance.now() - began;
        subject.looking = undefined;
      });
    return subject.looking;
  }

  async function checkOpen(): Promise<void> {
    if (await inTime(isOver())) throw new Error("The receiver is closing");
  }

  async function beat(): Promise<void> {
    await pause(everyMs);
    // Without viewers the inbox may be closed: a query would open it again.
    if (subjects.size === 0) return;
    await checkOpen();
    const now = performance.now();
    const earned = Math.max(leftMs, -lateMs * share) + (now - countedAt) * share;
    leftMs = Math.min(earned, everyMs * share);
    countedAt = now;
    for (const [key, subject] of [...subjects]) {
      if (leftMs <= 0) return;
      if (subjects.get(key) !== subject) continue;
      subjects.delete(key);
      subjects.set(key, subject);
      await lookAt(subject);
    }
  }

  async function lookFirst(subject: Subject): Promise<void> {
    await checkOpen();
    if (subject.pages > 0) await lookAt(subject);
  }

  return {
    join(key, look) {
      const subject = subjects.get(key) ?? { look, pages: 0, seen: null, looking: undefined };
      subjects.set(key, subject);
      subject.pages++;
      return {
        get seen() {
          return subject.seen;
        },
        next() {
          if (subject.seen === null) return lookFirst(subject);
          beating ??= beat().finally(() => {
            beating = undefined;
          });
          return beating;
        },
        leave() {
          subject.pages--;
          if (subject.pages === 0) subjects.delete(key);
        },
      };
    },
  };
}

/** Rejects if the answer is too late for a live page. */
async function inTime<T>(looked: Promise<T>): Promise<T> {
  const late = pause(lateMs);
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
