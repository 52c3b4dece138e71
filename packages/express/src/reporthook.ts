import type { IncomingMessage, ServerResponse } from "node:http";
import { checkReceiver, type Receiver } from "@reporthook/core";
import { nodeHandler } from "@reporthook/core/node";

/** A handler as Express 4 and 5 take it: `app.post`, `app.use`, a router. */
export type ExpressHandler = (req: IncomingMessage, res: ServerResponse) => Promise<void>;

/**
 * Mounts a receiver: answers everything that reaches it, never rejects and never calls `next`.
 *
 * @throws TypeError when it is given no receiver
 * @example
 * const app = express();
 * app.post("/webhooks/reports", reporthook(receiver));
 */
export function reporthook(receiver: Pick<Receiver, "mount">): ExpressHandler {
  checkReceiver(receiver, 'app.post("/webhooks/reports", reporthook(receiver))');
  return nodeHandler(receiver);
}
