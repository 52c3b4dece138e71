import type { Lookout } from "../health/health.ts";
import type { Arrival, NewDelivery, Outcome } from "../inbox/delivery.ts";
import { jobAt } from "../inbox/stored-delivery.ts";
import { shownFields } from "../lib/thrown.ts";
import { messages } from "../log-messages.ts";
import { hooksOf, type Observe } from "./hooks.ts";
import { type Instrument, type Instrumentation, type Watched, watch } from "./instrumentation.ts";
import { logOf } from "./log-lines.ts";

/** The settings of {@link Reporter}. */
export interface ReporterSettings extends Omit<Watched, "lookout"> {
  readonly observe: Observe;
  readonly instrument: Instrument | undefined;
}

/** The steps that telemetry wraps. */
type Wrappers = Required<Pick<Instrumentation, "receive" | "verify" | "handle" | "request">>;

/** Reports all that happens in a receiver once, to one list of instruments: the log, hooks, its own, and those of the options. */
export class Reporter implements Wrappers {
  readonly #settings: ReporterSettings;
  readonly #telemetry: Instrumentation | undefined;
  readonly #instruments: readonly Instrumentation[];

  /** `own` are the receiver's own instruments. */
  constructor(settings: ReporterSettings, lookout: Lookout, own: readonly Instrumentation[]) {
    const { instrument, observe } = settings;
    const watched = { ...settings, lookout };
    this.#settings = settings;
    this.#telemetry = instrument?.(watched);
    const hooks = hooksOf(observe, settings, this.unexpected);
    const given = [this.#telemetry, observe[watch]?.(watched)].filter((one) => one !== undefined);
    this.#instruments = [logOf(settings), hooks, ...own, ...given];
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

  /** Tells all instruments of something. */
  tell<Name extends Exclude<keyof Instrumentation, keyof Wrappers | "end">>(
    name: Name,
    ...told: Parameters<NonNullable<Instrumentation[Name]>>
  ): void {
    for (const each of this.#instruments) {
      (each[name] as ((...args: typeof told) => void) | undefined)?.call(each, ...told);
    }
  }

  /** Reports a stored delivery; `outcome` is that of `verify: "before-ack"`, if the service was asked. */
  stored(delivery: NewDelivery, arrival: Arrival, outcome: Outcome | null): void {
    this.tell("stored", delivery, arrival);
    if (outcome !== null) this.tell("settled", jobAt(delivery), outcome);
    else if (arrival.to === "held") {
      this.tell("settled", jobAt(delivery, arrival), { ...arrival, error: null });
    }
  }

  /** The receiver is closed: ends all instruments, even if one fails, and waits for them. */
  async end(): Promise<void> {
    await Promise.all(this.#instruments.map(async (each) => each.end?.()));
  }
}
