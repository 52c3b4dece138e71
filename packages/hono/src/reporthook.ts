import type { FetchContext, Receiver } from "@reporthook/core";
import { checkReceiver, incomingFromRequest } from "@reporthook/core";

/** The bindings of Hono's Node server. */
interface NodeBindings {
  readonly incoming?: object;
  readonly outgoing?: { readonly headersSent?: boolean };
}

/** The used members of a Hono context. */
export interface HonoContext {
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> };
  /** On Node it has `incoming` and `outgoing`, and there is no execution context. */
  readonly env: unknown;
  /** Whether an answer was sent already. */
  readonly finalized: boolean;
  /** Throws if the platform has none. */
  readonly executionCtx: FetchContext;
  /** Keeps headers set by earlier middleware. */
  body(text: string, status: number, headers: Record<string, string>): Response;
}

/** A Hono 4 handler, for `app.post`, `app.all` or `app.use`. */
export type HonoHandler = (c: HonoContext) => Promise<Response>;

/**
 * Mounts a receiver. The handler answers every request that reaches it, never rejects and never calls `next`.
 *
 * @throws TypeError if the argument is not a receiver
 * @example
 * const app = new Hono();
 * app.post("/webhooks/reports", reporthook(receiver));
 */
export function reporthook(receiver: Pick<Receiver, "mount">): HonoHandler {
  checkReceiver(receiver, 'app.post("/webhooks/reports", reporthook(receiver))');
  const answer = receiver.mount();
  return async (c) => {
    const { incoming: node, outgoing } = (c.env ?? {}) as NodeBindings;
    const incoming = incomingFromRequest(c.req?.raw, () => c.req.arrayBuffer(), {
      node,
      answered: () => c.finalized || outgoing?.headersSent === true,
    });
    // Bindings of other platforms may have these names too.
    const isNode = typeof outgoing?.headersSent === "boolean";
    const context = isNode ? undefined : executionContextOf(c);
    const { status, headers, body } = await answer(incoming, context);
    return c.body(body, status, headers);
  };
}

// On Node the getter throws, and an exception for every request costs as much as storing it: not called there.
function executionContextOf(c: HonoContext): FetchContext | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
