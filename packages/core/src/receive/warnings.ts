import type { Clock } from "../lib/clock.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import { messages } from "../messages.ts";

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
      unavailable({}, messages.bodyUnavailable);
    },
    reusedSignature(id, sameSignatureAs) {
      logger.warn({ id, sameSignatureAs }, messages.reusedSignature);
    },
    notStarted(id) {
      if (saidNotStarted) return;
      saidNotStarted = true;
      logger.warn({ id }, messages.notStarted);
    },
  };
}
