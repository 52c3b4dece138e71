import type { ReceiveResult } from "../http/answer.ts";
import type { Arrival, Job, NewDelivery, Outcome } from "../inbox/delivery.ts";
import type { Pruned } from "../inbox/inbox.ts";
import { jobAt } from "../inbox/stored-delivery.ts";
import { shownFields } from "../lib/thrown.ts";
import { messages } from "../log-messages.ts";
import { hooksOf, type Observe } from "./hooks.ts";
import { type Instrument, type Instrumentation, type Watched, watch } from "./instrumentation.ts";
import { logAnswer, logOutcome, logPruned } from "./log-lines.ts";

/** The settings of {@link Reporter}. */
export interface ReporterSettings extends Omit<Watched, "lookout" | "numbers"> {
  readonly observe: Observe;
  readonly instrument: Instrument | undefined;
}

/** The steps that telemetry wraps. */
type Wrappers = Required<Pick<Instrumentation, "receive" | "verify" | "handle" | "request">>;

type Event = "judged" | "noVerdict" | "unsigned" | "notStored" | "stoodStill";

/** Reports all that happens in a receiver once: to the log, and to one list of instruments. */
export class Reporter implements Wrappers {
  readonly #settings: ReporterSettings;
  readonly #instruments: Instrumentation[];
  #telemetry: Instrumentation | undefined;

  constructor(settings: ReporterSettings) {
    const { parked, ...withoutParked } = settings.observe;
    // Without a store, nothing is parked.
    const hooks = settings.ack === "stored" ? settings.observe : withoutParked;
    this.#settings = settings;
    this.#instruments = [hooksOf(hooks, settings.clock, this.unexpected)];
  }

  /** Adds the receiver's own instruments, and makes those of the options, which look at it. */
  instrument(looks: Pick<Watched, "lookout" | "numbers">, own: readonly Instrumentation[]): void {
    const { instrument, observe } = this.#settings;
    const watched = { ...this.#settings, ...looks };
    this.#telemetry = instrument?.(watched);
    for (const each of [...own, this.#telemetry, observe[watch]?.(watched)]) {
      if (each !== undefined) this.#instruments.push(each);
    }
  }

  readonly receive: Wrappers["receive"] = (incoming, id, run) =>
    this.#telemetry?.receive?.(incoming, id, run) ?? run(incoming);
  readonly verify: Wrappers["verify"] = (job, run) => this.#telemetry?.verify?.(job, run) ?? run();
  readonly handle: Wrappers["handle"] = (job, run, traceparent) =>
    this.#telemetry?.handle?.(job, run, traceparent) ?? run();
  readonly request: Wrappers["request"] = (run) => this.#telemetry?.request?.(run) ?? run();

  /** Logs an unexpected failure, also of a hook. */
  readonly unexpected = (error: unknown): void => {
    const { redact, logger } = this.#settings;
    logger.error(shownFields(error, redact), messages.unexpected);
  };

  /** The work of the receiver begins. */
  begin(): void {
    for (const each of this.#instruments) each.begin?.();
  }

  /** Tells all instruments of something that needs no line in the log here. */
  tell<Name extends Event>(name: Name, ...told: Parameters<Required<Instrumentation>[Name]>): void {
    for (const each of this.#instruments) {
      (each[name] as ((...args: typeof told) => void) | undefined)?.call(each, ...told);
    }
  }

  /** Reports the result of the request for the delivery `id`, after so many milliseconds. */
  answered(id: string, result: ReceiveResult, isSigned: () => boolean, ms: number): void {
    logAnswer(this.#settings.logger, id, result, ms);
    for (const each of this.#instruments) each.answered?.(result, isSigned, ms);
  }

  /** Reports a stored delivery; `outcome` is that of `verify: "before-ack"`, if the service was asked. */
  stored(delivery: NewDelivery, arrival: Arrival, outcome: Outcome | null): void {
    for (const each of this.#instruments) each.stored?.(delivery, arrival);
    if (outcome !== null) this.settled(jobAt(delivery), outcome);
    if (arrival.to !== "held" || outcome?.to === "held") return;
    const fields = { id: delivery.id, reason: arrival.reason.code };
    this.#settings.logger.info?.(fields, messages.heldOnArrival);
    this.#ended(jobAt(delivery, arrival), { ...arrival, error: null });
  }

  /** Reports the outcome of a stage. */
  settled(job: Job, outcome: Outcome): void {
    this.#ended(job, outcome);
    const { ack, logger } = this.#settings;
    logOutcome(logger, ack === "stored", job, outcome);
  }

  /** Reports what retention did at `now`. */
  pruned(pruned: Pruned, now: number): void {
    logPruned(this.#settings.logger, pruned, now);
    const { parked, unsigned, madeRoom } = pruned;
    for (const some of [parked, unsigned, madeRoom]) {
      for (const each of this.#instruments) each.deleted?.(some);
    }
  }

  /** The receiver is closed: ends all instruments, even if one fails, and waits for them. */
  async end(): Promise<void> {
    await Promise.all(this.#instruments.map(async (each) => each.end?.()));
  }

  #ended(job: Job, outcome: Outcome): void {
    for (const each of this.#instruments) each.settled?.(job, outcome);
  }
}
