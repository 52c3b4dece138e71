import { answer } from "./answer.ts";

const everyMs = 1_000;
const silentMs = 15_000;
// Whoever looks is asked anew who they are.
const longestMs = 300_000;
const most = 100;

/** Answers that stay open and tell of each change. */
export interface Live {
  /** Null when too many are open. */
  open(look: () => Promise<unknown>, request: Request): Response | null;
}

/** Makes server-sent events of whatever can be looked at; `isOver` ends them all. */
export function createLive(isOver: () => Promise<boolean>): Live {
  let number = 0;

  async function* changes(
    look: () => Promise<unknown>,
    ended: () => boolean,
  ): AsyncGenerator<string> {
    const until = performance.now() + longestMs;
    let last = "";
    let told = performance.now();
    yield "retry: 1000\n\n";
    while (performance.now() < until) {
      // Once nobody looks the inbox may be closed, too: to ask it would open it again.
      if (ended() || (await inTime(isOver())) || ended()) return;
      const now = JSON.stringify(await inTime(look()));
      const isNews = now !== last;
      if (isNews || performance.now() - told > silentMs) {
        yield isNews ? `data: ${now}\n\n` : ": still here\n\n";
        told = performance.now();
      }
      last = now;
      await pause(everyMs);
    }
  }

  return {
    open(look, request) {
      if (number >= most) return null;
      number++;
      let isEnded = false;
      const end = (): void => {
        if (isEnded) return;
        isEnded = true;
        number--;
      };
      if (request.signal.aborted) end();
      request.signal.addEventListener("abort", end, { once: true });
      const events = changes(look, () => isEnded);
      const encoder = new TextEncoder();
      const stream = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            try {
              const { done, value } = await events.next();
              if (!done && !isEnded) return controller.enqueue(encoder.encode(value));
            } catch {
              // The page connects again, and is then told what is wrong.
            }
            end();
            controller.close();
          },
          cancel: end,
        },
        { highWaterMark: 0 },
      );
      const headers = {
        "Content-Type": "text/event-stream",
        // Whatever compresses ahead would wait for more.
        "Cache-Control": "no-store, no-transform",
        "X-Accel-Buffering": "no",
        // Else the page would come again on the connection that a server which closes waits for.
        Connection: "close",
      };
      return answer(200, stream, headers);
    },
  };
}

/** Rejects what takes so long that the page must not call it live. */
async function inTime<T>(looked: Promise<T>): Promise<T> {
  const late = pause(silentMs);
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
