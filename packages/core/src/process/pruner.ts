import { describe } from "../lib/describe.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/** Has the inbox delete what it no longer keeps. */
export class Pruner {
  readonly #settings: Pick<ReceiverSettings, "ack" | "redact" | "clock" | "inbox">;
  readonly #failed: Logger["error"];
  #prunedAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(settings: Pick<ReceiverSettings, "ack" | "redact" | "clock" | "inbox" | "logger">) {
    this.#settings = settings;
    this.#failed = oncePerMinute(settings.clock, settings.logger.error);
  }

  /** Prunes, at most once in `everyMs` milliseconds. Never rejects. */
  async prune(everyMs = 60_000): Promise<void> {
    const { ack, redact, clock, inbox } = this.#settings;
    const now = clock.now();
    if (ack !== "stored" || this.#stopped || Math.abs(now - this.#prunedAt) < everyMs) return;
    this.#prunedAt = now;
    try {
      await inbox.prune(new Date(now));
    } catch (error) {
      if (this.#stopped) return;
      const fields = { error: describe(error, redact) };
      this.#failed(fields, "Expired deliveries not pruned; retrying.");
    }
  }

  /** Prunes no more. */
  stop(): void {
    this.#stopped = true;
  }
}
