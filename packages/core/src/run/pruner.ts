import { describe } from "../lib/describe.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import type { Timekeeper } from "../lib/time/timekeeper.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/** The options of {@link Pruner}. */
interface PrunerOptions
  extends Pick<ReceiverSettings, "ack" | "redact" | "clock" | "inbox" | "logger"> {
  readonly time: Pick<Timekeeper, "isYoung" | "retentionNow">;
}

/** Prunes the inbox. */
export class Pruner {
  readonly #settings: PrunerOptions;
  readonly #reporter: Pick<Reporter, "pruned">;
  readonly #failed: Logger["error"];
  #prunedAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(settings: PrunerOptions, reporter: Pick<Reporter, "pruned">) {
    this.#settings = settings;
    this.#reporter = reporter;
    this.#failed = oncePerMinute(settings.clock, settings.logger.error);
  }

  /** Prunes, at most once in `everyMs` milliseconds; in the first hour nothing is over. Never rejects. */
  prune(everyMs = 60_000): Promise<void> {
    const { ack, clock, time } = this.#settings;
    const now = clock.now();
    if (ack !== "stored" || this.#stopped || now - this.#prunedAt < everyMs) {
      return Promise.resolve();
    }
    this.#prunedAt = now;
    return this.#prune(time.isYoung ? 0 : time.retentionNow);
  }

  async #prune(now: number): Promise<void> {
    const { redact, inbox } = this.#settings;
    try {
      this.#reporter.pruned(await inbox.prune(new Date(now)), now);
    } catch (error) {
      if (this.#stopped) return;
      const fields = { error: describe(error, redact) };
      this.#failed(fields, messages.notPruned);
    }
  }

  /** Ends pruning. */
  stop(): void {
    this.#stopped = true;
  }
}
