import { setUnrefTimeout, systemClock } from "@reporthook/core/store";
import { SharedViews, type View } from "./deliveries/shared-views.ts";
import { withViewer } from "./deliveries/telling.ts";
import { type Person, stillHere } from "./deliveries/wire.ts";
import { answer, problem } from "./http/answer.ts";

const everyMs = 1_000;
const silentMs = 15_000;
// The connection is renewed, and `authorize` called again.
const maxMs = 300_000;
const most = 100;

/**
 * Creates what answers with a view and sends each change of it. Pages with one `key` share what is read; `isOver` ends all of
 * them.
 */
export function createLive(
  isOver: () => Promise<boolean>,
): (key: string, view: View, viewer: Person, request: Request) => Response {
  const views = new SharedViews(isOver);
  let number = 0;

  return (key, view, viewer, request) => {
    if (number >= most) {
      return problem(503, "too_many_viewers", "Too many pages are open.", { "Retry-After": "10" });
    }
    number++;
    const shown = views.join(key, view);
    let isEnded = false;
    const end = (): void => {
      if (isEnded) return;
      isEnded = true;
      number--;
      shown.leave();
    };
    if (request.signal.aborted) end();
    request.signal.addEventListener("abort", end, { once: true });
    const events = changes(shown.read, viewer, () => isEnded);
    const encoder = new TextEncoder();
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          try {
            const { done, value } = await events.next();
            if (!done && !isEnded) return controller.enqueue(encoder.encode(value));
          } catch {
            // The page connects again and then gets the error.
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
      // A compressing middleware would buffer the events.
      "Cache-Control": "no-store, no-transform",
      "X-Accel-Buffering": "no",
      // Else the page would come again on the connection that a server which closes waits for.
      Connection: "close",
    };
    return answer(200, stream, headers);
  };
}

async function* changes(read: View, viewer: Person, ended: () => boolean): AsyncGenerator<string> {
  const until = performance.now() + maxMs;
  let told: string | null = null;
  let toldAt = performance.now();
  yield "retry: 1000\n\n";
  while (performance.now() < until && !ended()) {
    const seen = await read();
    const isNews = seen !== told;
    if (isNews || performance.now() - toldAt > silentMs) {
      yield isNews ? `data: ${withViewer(viewer, seen)}\n\n` : `event: ${stillHere}\ndata:\n\n`;
      toldAt = performance.now();
      told = seen;
    }
    await new Promise<void>((resolve) => setUnrefTimeout(systemClock, resolve, everyMs));
  }
}
