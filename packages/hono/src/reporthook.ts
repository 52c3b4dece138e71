import {
  checkReceiver,
  type FetchContext,
  incomingFromRequest,
  type Receiver,
} from "@reporthook/core";

/** The members used of a Hono context. */
export interface HonoContext {
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> };
  /** With `incoming` and `outgoing` on Node, where there is no execution context. */
  readonly env: unknown;
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
    const node = isNode(c.env) ? c.env.incoming : undefined;
    const incoming = incomingFromRequest(c.req.raw, () => c.req.arrayBuffer(), { node });
    const { status, headers, body } = await answer(incoming, executionContextOf(c));
    return c.body(body, status, headers);
  };
}

function executionContextOf(c: HonoContext): FetchContext | undefined {
  if (isNode(c.env)) return undefined;
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

// An error thrown and caught for every request costs as much as storing it.
function isNode(env: unknown): env is { readonly incoming: object; readonly outgoing: object } {
  return typeof env === "object" && env !== null && "incoming" in env && "outgoing" in env;
}
