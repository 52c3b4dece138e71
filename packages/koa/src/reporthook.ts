import type { IncomingMessage } from "node:http";
import { checkReceiver, type Receiver } from "@reporthook/core";
import { bodyOf, incomingFromNode } from "@reporthook/core/node";

/** The used members of a Koa context. */
export interface KoaContext {
  readonly req: IncomingMessage;
  /** May have the `body` and `rawBody` of an earlier parser. */
  readonly request: object;
  readonly originalUrl: string;
  /** Whether an answer was sent already. */
  readonly headerSent: boolean;
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
    const request: { readonly body?: unknown; readonly rawBody?: unknown } = ctx.request;
    const incoming = incomingFromNode(ctx.req, {
      url: ctx.originalUrl,
      get body() {
        return request.body;
      },
      get rawBody() {
        return request.rawBody;
      },
      get answered() {
        return ctx.headerSent;
      },
    });
    const answered = await answer(incoming);
    ctx.status = answered.status;
    ctx.body = bodyOf(ctx.req, answered);
    ctx.set({
      ...answered.headers,
      "Content-Length": String(Buffer.byteLength(answered.body)),
    });
  };
}
