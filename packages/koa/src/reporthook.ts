import type { IncomingMessage } from "node:http";
import { checkReceiver, type Receiver } from "@reporthook/core";
import { bodyOf, incomingFromNode } from "@reporthook/core/node";

/** The members used of a Koa context. */
export interface KoaContext {
  readonly req: IncomingMessage;
  /** May carry the `body` and `rawBody` of a parser ahead. */
  readonly request: object;
  readonly originalUrl: string;
  /** Whether something has answered already. */
  readonly headerSent: boolean;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}

/** Middleware as Koa 2 and 3 take it: `router.post`, `app.use`, `mount`. */
export type KoaHandler = (ctx: KoaContext) => Promise<void>;

/**
 * Mounts a receiver: answers everything that reaches it, never rejects and never calls `next`.
 *
 * @throws TypeError when it is given no receiver
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
