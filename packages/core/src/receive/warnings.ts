import type { Clock } from "../lib/clock.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";

/** Warnings about requests that are answered normally. */
export interface ReceiveWarnings {
  bodyUnavailable(): void;
  reusedSignature(id: string, sameSignatureAs: string): void;
  /** Said once: the deliveries are stored, but nothing handles them. */
  notStarted(id: string): void;
}

/** Makes the warnings of one receiver. */
export function receiveWarnings({
  clock,
  logger,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
}): ReceiveWarnings {
  const unavailable = oncePerMinute(clock, logger.error);
  let saidNotStarted = false;
  return {
    bodyUnavailable() {
      unavailable(
        {},
        "Something ahead of the receiver consumed the body and left nothing: mount the receiver before it, or let it keep rawBody.",
      );
    },
    reusedSignature(id, sameSignatureAs) {
      const message = "Signature reused with other bytes, or at another address.";
      logger.warn({ id, sameSignatureAs }, message);
    },
    notStarted(id) {
      if (saidNotStarted) return;
      saidNotStarted = true;
      logger.warn({ id }, "Delivery stored, but not handled before start(): autostart is off.");
    },
  };
}
