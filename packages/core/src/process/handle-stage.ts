import { ReporthookError } from "../errors.ts";
import type { EventOf } from "../events/events.ts";
import { type Job, type Outcome, park, type Recognized, stopped } from "../inbox/delivery.ts";
import type { StopSignal } from "../lib/abort.ts";
import { describe } from "../lib/describe.ts";
import { isPromise } from "../lib/is-promise.ts";
import { accountOf, shownError, withError } from "../lib/thrown.ts";
import { withTimeout } from "../lib/timeout.ts";
import type { Instrumentation } from "../observe/instrumentation.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { afterFailure } from "./after-failure.ts";
import { dispatch, handlersFor, type Registration } from "./handlers.ts";
import { createNoHandler, type NoHandler } from "./no-handler.ts";
import { toEvent } from "./to-event.ts";

type Needed =
  | ("clock" | "logger" | "parse" | "schemas" | "reusedSignature" | "retry")
  | ("handlerTimeoutMs" | "redact");

/** The options of {@link HandleStage}. */
export interface HandleOptions extends Pick<ReceiverSettings, Needed> {
  readonly registrations: readonly Registration[];
  readonly instrumentation?: Instrumentation | undefined;
}

/** The handle stage: makes a verified delivery an event, runs its handlers, and decides about a retry. */
export class HandleStage {
  readonly #options: HandleOptions;
  readonly #noHandler: NoHandler;

  constructor(options: HandleOptions) {
    this.#options = options;
    this.#noHandler = createNoHandler(options);
  }

  /** Begins the work: warns if no handler is registered. */
  begin(): void {
    this.#noHandler.atStart();
  }

  /** Handles one delivery. An unexpected failure is an attempt like any other: retries must come to an end. */
  async run(job: Job, signal: StopSignal): Promise<Outcome> {
    let event: EventOf | null;
    try {
      const making = toEvent(job, this.#options);
      event = isPromise(making) ? await this.#inTime(making, signal) : making;
    } catch (error) {
      return signal.aborted ? stopped : this.#notUnderstood(error);
    }
    if (event === null) {
      return park("dead", "not_understood", "The body is not a JSON object.");
    }
    try {
      return await this.#handle(job, event, signal);
    } catch (error) {
      return signal.aborted ? stopped : this.#afterFailure(job, [error]);
    }
  }

  #handle(job: Job, event: EventOf, signal: StopSignal): Outcome | Promise<Outcome> {
    if (this.#isHeldForReuse(job)) {
      const message = `Its signature came with other bytes, or at another address: ${job.sameSignatureAs}. Release it if you trust both.`;
      return park("held", "reused_signature", message);
    }
    const { type } = event;
    const recognized = { type, reportId: "reportId" in event ? event.reportId : null };
    const handlers = handlersFor(this.#options.registrations, event, job.released);
    if (handlers.length === 0) return this.#noHandler.outcomeOf(job, recognized);
    const { instrumentation, clock, handlerTimeoutMs: timeoutMs } = this.#options;
    const bounds = { clock, attempt: job.attempts + 1, timeoutMs, signal };
    const run = () => dispatch(handlers, event, bounds);
    const running = instrumentation === undefined ? run() : instrumentation.handle(job, run);
    return running.then((failures) => {
      if (failures.length === 0) return { to: "handled", ...recognized };
      return signal.aborted ? stopped : this.#afterFailure(job, failures, recognized);
    });
  }

  #inTime<T>(validating: Promise<T>, signal: StopSignal): Promise<T> {
    const { clock, handlerTimeoutMs: ms } = this.#options;
    const late = `The schema took longer than handlerTimeoutMs (${ms} ms)`;
    return withTimeout({ clock, ms, late, parent: signal }, () => validating);
  }

  #notUnderstood(error: unknown): Outcome {
    const { redact } = this.#options;
    const text = describe(error, redact);
    const isMismatch = error instanceof ReporthookError && error.code === "schema_mismatch";
    if (isMismatch) return park("dead", "schema_mismatch", text, text);
    const outcome = park("dead", "not_understood", text, accountOf(error, redact));
    return withError(outcome, shownError(error, redact));
  }

  #isHeldForReuse({ released, sameSignatureAs }: Job): boolean {
    return this.#options.reusedSignature === "hold" && sameSignatureAs !== null && !released;
  }

  #afterFailure(
    job: Job,
    failures: readonly unknown[],
    recognized: Partial<Recognized> = {},
  ): Outcome {
    const failure =
      failures.length === 1 ? failures[0] : new AggregateError(failures, "Several handlers failed");
    const outcome = { ...afterFailure(job, failures, failure, this.#options), ...recognized };
    return withError(outcome, shownError(failure, this.#options.redact));
  }
}
