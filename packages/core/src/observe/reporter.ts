import type { Arrival, Entry, Job, NewDelivery, Outcome } from "../inbox/delivery.ts";
import type { Pruned } from "../inbox/inbox.ts";
import { entryOf, jobAt, newStoredDelivery } from "../inbox/stored-delivery.ts";
import { sumOf } from "../lib/add-counts.ts";
import { shownFields } from "../lib/thrown.ts";
import { messages } from "../log-messages.ts";
import { callHook, notifyHooks, type Observe } from "./hooks.ts";
import type { Instrumentation } from "./instrumentation.ts";
import { logOutcome, logPruned } from "./log-lines.ts";
import type { Watched, Watcher } from "./watcher.ts";

/** The options of {@link Reporter}. */
export interface ReporterOptions extends Pick<Watched, "ack" | "clock" | "logger" | "redact"> {
  readonly observe: Observe;
}

/** Reports each outcome of a delivery once: to the hooks, to the log and to telemetry. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #hooks: Observe;
  readonly #instrumentation: Instrumentation | undefined;
  readonly #watcher: Watcher | undefined;

  constructor(
    options: ReporterOptions,
    instrumentation: Instrumentation | undefined,
    watcher?: Watcher | undefined,
  ) {
    const { parked, ...withoutParked } = options.observe;
    this.#options = options;
    // Without a store, nothing is parked.
    this.#hooks = options.ack === "stored" ? options.observe : withoutParked;
    this.#instrumentation = instrumentation;
    this.#watcher = watcher;
  }

  /** Logs an unexpected failure, also of a hook. */
  readonly unexpected = (error: unknown): void => {
    const { redact, logger } = this.#options;
    logger.error(shownFields(error, redact), messages.unexpected);
  };

  /** Reports a stored delivery; `outcome` is that of `verify: "before-ack"`, if the service was asked. */
  stored(delivery: NewDelivery, arrival: Arrival, outcome: Outcome | null): void {
    this.#showNew(this.#hooks.acknowledged, delivery, arrival);
    if (outcome !== null) this.settled(jobAt(delivery), outcome);
    if (arrival.to !== "held" || outcome?.to === "held") return;
    const fields = { id: delivery.id, reason: arrival.reason.code };
    this.#options.logger.info?.(fields, messages.heldOnArrival);
    this.#ended(jobAt(delivery), { ...arrival, error: null });
    this.#showNew(this.#hooks.parked, delivery, arrival);
  }

  /** Reports the outcome of a stage. */
  settled(job: Job, outcome: Outcome): void {
    const { ack, clock, logger } = this.#options;
    notifyHooks(this.#hooks, job, outcome, clock, this.unexpected);
    logOutcome(logger, ack === "stored", job, outcome);
    this.#ended(job, outcome);
  }

  /** Reports what retention did at `now`. */
  pruned(pruned: Pruned, now: number): void {
    logPruned(this.#options.logger, pruned, now);
    if (sumOf(pruned.parked) === 0) return;
    this.#instrumentation?.deleted(pruned.parked);
    this.#watcher?.deleted(pruned.parked);
  }

  #ended(job: Job, outcome: Outcome): void {
    this.#instrumentation?.settled(job, outcome);
    this.#watcher?.settled(outcome);
  }

  #showNew(
    hook: ((entry: Entry) => void) | undefined,
    delivery: NewDelivery,
    arrival: Arrival,
  ): void {
    if (!hook) return;
    const { wallOffset } = this.#options.clock;
    const entry = entryOf(newStoredDelivery(delivery, arrival, null), wallOffset);
    callHook(hook, entry, this.unexpected);
  }
}
