import { setUnrefTimeout, systemClock } from "@reporthook/core/store";
import { shareViews, type View } from "./deliveries/shared-views.ts";
import { withViewer } from "./deliveries/view-text.ts";
import type { Person } from "./deliveries/wire.ts";
import { answer, problem } from "./http/answer.ts";

const everyMs = 1_000;
const silentMs = 15_000;
// The connection is renewed, and `authorize` called again.
const maxMs = 300_000;
const most = 100;
/** A comment: the connection of a view without news is alive. */
const stillHere = ":\n\n";

/**
 * Creates what answers with a view and sends each change of it; it rejects when the view can't be read at first. Requests for the
 * same address share what is read.
 */
export function createLive(): (view: View, viewer: Person, request: Request) => Promise<Response> {
  const join = shareViews();
  let number = 0;

  return async (view, viewer, request) => {
    if (number >= most) {
      return problem(503, "too_many_viewers", "Too many pages are open.", { "Retry-After": "10" });
    }
    number++;
    const leaving = new AbortController();
    const gone = AbortSignal.any([request.signal, leaving.signal]);
    gone.addEventListener("abort", () => number--, { once: true });
    const leave = (): void => leaving.abort();
    const read = join(request.url, view, gone);
    await read().catch((error: unknown) => {
      leave();
      throw error;
    });
    const next = changes(read, viewer, gone);
    const stream = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          // Of a view that fails later the stream ends: the page connects again and then gets the error.
          const event = await next().catch(() => null);
          if (event !== null) return controller.enqueue(new TextEncoder().encode(event));
          leave();
          controller.close();
        },
        cancel: leave,
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

/** Creates what waits for the next event; it resolves to null at the end. */
function changes(read: View, viewer: Person, gone: AbortSignal): () => Promise<string | null> {
  let toldAt = performance.now();
  let told: string | null = null;
  const until = toldAt + maxMs;
  return async () => {
    for (;;) {
      const seen = await read();
      const now = performance.now();
      if (now >= until || gone.aborted) return null;
      const isNews = seen !== told;
      if (isNews || now - toldAt > silentMs) {
        toldAt = now;
        told = seen;
        return isNews ? `data: ${withViewer(viewer, seen)}\n\n` : stillHere;
      }
      await new Promise<void>((resolve) => setUnrefTimeout(systemClock, resolve, everyMs));
    }
  };
}
