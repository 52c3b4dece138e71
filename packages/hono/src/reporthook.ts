import type { FetchContext, Receiver } from "@reporthook/core";
import { checkReceiver, incomingFromRequest } from "@reporthook/core";

/** What Hono's server for Node hands over. */
interface NodeBindings {
  readonly incoming?: object;
  readonly outgoing?: { readonly headersSent?: boolean };
}

/** The members used of a Hono context. */
export interface HonoContext {
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> };
  /** With `incoming` and `outgoing` on Node, where there is no execution context. */
  readonly env: unknown;
  /** Whether something has answered already. */
  readonly finalized: boolean;
  /** Throws where the platform has none. */
  readonly executionCtx: FetchContext;
  /** Keeps the headers that middleware ahead has set. */
  body(text: string, status: number, headers: Record<string, string>): Response;
}

/** A handler as Hono 4 takes it: `app.post`, `app.all`, `app.use`. */
export type HonoHandler = (c: HonoContext) => Promise<Response>;

/**
 * Mounts a receiver: answers everything that reaches it, never rejects and never calls `next`.
 *
 * @throws TypeError when it is given no receiver
 * @example
 * const app = new Hono();
 * app.post("/webhooks/reports", reporthook(receiver));
 */
export function reporthook(receiver: Pick<Receiver, "mount">): HonoHandler {
  checkReceiver(receiver, 'app.post("/webhooks/reports", reporthook(receiver))');
  const answer = receiver.mount();
  return async (c) => {
    const { incoming: node, outgoing } = (c.env ?? {}) as NodeBindings;
    const incoming = incomingFromRequest(c.req.raw, () => c.req.arrayBuffer(), {
      node,
      get answered() {
        return c.finalized || outgoing?.headersSent === true;
      },
    });
    const context = node && outgoing ? undefined : executionContextOf(c);
    const { status, headers, body } = await answer(incoming, context);
    return c.body(body, status, headers);
  };
}

// An error thrown and caught for every request costs as much as storing it: not asked for on Node.
function executionContextOf(c: HonoContext): FetchContext | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
