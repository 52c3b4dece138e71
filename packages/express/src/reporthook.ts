import type { IncomingMessage, ServerResponse } from "node:http";
import { checkReceiver, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";

/** An Express 4 or 5 handler, for `app.post`, `app.use` or a router. */
export type ExpressHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/**
 * Mounts a receiver. The handler answers every request that reaches it, never rejects and never calls `next`.
 *
 * @throws TypeError if the argument is not a receiver
 * @example
 * const app = express();
 * app.post("/webhooks/reports", reporthook(receiver));
 */
export function reporthook(receiver: Pick<Receiver, "mount">): ExpressHandler {
  checkReceiver(receiver, 'app.post("/webhooks/reports", reporthook(receiver))');
  return nodeHandler(receiver);
}
