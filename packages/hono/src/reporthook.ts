import {
  type FetchContext,
  incomingFromRequest,
  type Receiver,
  toResponse,
} from "@reporthook/core";

/** The members used of a Hono context. */
export interface HonoContext {
  readonly req: { readonly raw: Request; arrayBuffer(): Promise<ArrayBuffer> };
  /** Throws where the platform has none. */
  readonly executionCtx: FetchContext;
}

/** A handler as Hono 4 takes it: `app.post`, `app.all`, `app.use`. */
export type HonoHandler = (c: HonoContext) => Promise<Response>;

/**
 * Mounts a receiver: answers everything that reaches it, never rejects and never calls `next`.
 *
 * @example app.post("/webhooks/reports", reporthook(receiver));
 */
export function reporthook(receiver: Pick<Receiver, "mount">): HonoHandler {
  const answer = receiver.mount();
  return async (c) => {
    const incoming = incomingFromRequest(c.req.raw, () => c.req.arrayBuffer());
    return toResponse(await answer(incoming, executionContextOf(c)));
  };
}

function executionContextOf(c: HonoContext): FetchContext | undefined {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}
