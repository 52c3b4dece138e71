import { readUpTo } from "../lib/read-up-to.ts";
import { bodyText, Dropped, type ServiceReply } from "./answer.ts";
import { bodyTooLarge, CALL_BYTES } from "./call.ts";
import type { EmulatedService } from "./service.ts";

/**
 * Creates a `fetch` that reaches the service without a network, for any host in the URL. It fails like
 * the global one: with a `TypeError` if the connection breaks, with the signal's reason if it is
 * aborted.
 */
export function createFetch(answer: EmulatedService["answer"]): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    try {
      return toResponse(
        await answer({
          method: request.method,
          url: new URL(request.url),
          header: (name) => request.headers.get(name),
          readBody: () => readBody(request),
          signal: request.signal,
        }),
      );
    } catch (error) {
      throw error instanceof Dropped ? new TypeError("fetch failed", { cause: error }) : error;
    }
  };
}

async function readBody(request: Request): Promise<Uint8Array> {
  const { bytes, complete } = await readUpTo(request.body, CALL_BYTES, request.signal);
  if (!complete) throw bodyTooLarge();
  return bytes;
}

function toResponse(answer: ServiceReply): Response {
  const headers = { "content-type": "application/json", ...answer.headers };
  return new Response(bodyText(answer), { status: answer.status, headers });
}
