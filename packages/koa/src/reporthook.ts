import type { IncomingMessage, ServerResponse } from "node:http";
import { checkReceiver, type Receiver } from "@reporthook/core";
import { bodyOf, incomingFromNode } from "@reporthook/core/node";

/** The used members of a Koa context. */
export interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** May have the `body` and `rawBody` of an earlier parser. */
  readonly request: { readonly originalUrl: string };
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

/** Koa 2 or 3 middleware, for `router.post`, `app.use` or `mount`. */
export type KoaHandler = (ctx: KoaContext) => Promise<void>;

/**
 * Mounts a receiver. The handler answers every request that reaches it, never rejects and never calls `next`.
 *
 * @throws TypeError if the argument is not a receiver
 * @example
 * const router = new Router();
 * router.post("/webhooks/reports", reporthook(receiver));
 */
export function reporthook(receiver: Pick<Receiver, "mount">): KoaHandler {
  checkReceiver(receiver, 'router.post("/webhooks/reports", reporthook(receiver))');
  const answer = receiver.mount();
  return async (ctx) => {
    const answered = await answer(incomingFromNode(ctx.req, ctx.request, ctx.res));
    ctx.status = answered.status;
    ctx.body = bodyOf(ctx.req, answered);
    ctx.set({
      ...answered.headers,
      "Content-Length": String(Buffer.byteLength(answered.body)),
    });
  };
}
