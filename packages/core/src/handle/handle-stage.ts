import { ReporthookError } from "../errors.ts";
import type { EventOf } from "../events/events.ts";
import type { Recognizer } from "../events/recognizer.ts";
import { type Job, type Outcome, park, type Recognized, stopped } from "../inbox/delivery.ts";
import type { Processor } from "../inbox/inbox.ts";
import type { StopSignal } from "../lib/abort.ts";
import { describe } from "../lib/describe.ts";
import { isPromise } from "../lib/is-promise.ts";
import { createSemaphore, type Semaphore } from "../lib/semaphore.ts";
import { accountOf, shownError, withError } from "../lib/thrown.ts";
import { Pace } from "../lib/time/pace.ts";
import { withTimeout } from "../lib/time/timeout.ts";
import type { Instrumentation } from "../observe/instrumentation.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { afterFailure } from "./after-failure.ts";
import { dispatch, handlersFor, type Registration } from "./handlers.ts";
import { toEvent } from "./to-event.ts";
import { createNoHandler, type NoHandler } from "./without-handler.ts";

type Needed =
  | ("clock" | "logger" | "schemas" | "reusedSignature" | "retry")
  | ("concurrency" | "handlerTimeoutMs" | "redact");

const notAnObject = park("dead", "not_understood", "The body is not a JSON object.");

type Work = Parameters<Processor>;

/** The options of {@link HandleStage}. */
export interface HandleOptions extends Pick<ReceiverSettings, Needed> {
  readonly recognizer: Recognizer;
  readonly registrations: readonly Registration[];
  readonly instrumentation?: Instrumentation | undefined;
}

/** The handle stage: makes a verified delivery an event, runs its handlers, and decides about a retry. */
export class HandleStage {
  readonly #options: HandleOptions;
  readonly #noHandler: NoHandler;
  readonly #slots: Semaphore;
  readonly #pace = new Pace();
  #atOnce = 0;

  constructor(options: HandleOptions) {
    this.#options = options;
    this.#noHandler = createNoHandler(options);
    this.#slots = createSemaphore(options.concurrency.handle);
  }

  /** Begins the work: warns if no handler is registered. */
  begin(): void {
    this.#noHandler.atStart();
  }

  /** The number of deliveries to claim at a time, beside those that {@link runAtOnce} runs. */
  get concurrency(): number {
    return Math.max(1, this.#options.concurrency.handle - this.#atOnce);
  }

  /** Handles one delivery once a slot is free. An unexpected failure is an attempt like any other: retries must come to an end. */
  run(...work: Work): Promise<Outcome> {
    return this.#runInSlot(work, 0);
  }

  /** Handles a delivery right after its verdict, if a slot is free; with short handlers it waits for one. Null: later. */
  runAtOnce(...work: Work): Promise<Outcome> | null {
    const { verify } = this.#options.concurrency;
    const waitingMax = this.#pace.isShort ? verify : 0;
    return this.#slots.free + waitingMax <= 0 ? null : this.#runInSlot(work, 1);
  }

  async #runInSlot([job, signal, isLeased]: Work, atOnce: 0 | 1): Promise<Outcome> {
    this.#atOnce += atOnce;
    const acquiring = this.#slots.acquire(job.arrivedAt, signal);
    const waits = isPromise(acquiring);
    const hasSlot: boolean = waits ? await acquiring : acquiring;
    const from = performance.now();
    try {
      if (!hasSlot || (waits && !((await isLeased?.()) ?? true))) return stopped;
      return await this.#attempt(job, signal);
    } catch (error) {
      return signal.aborted ? stopped : this.#afterFailure(job, [error]);
    } finally {
      this.#atOnce -= atOnce;
      if (hasSlot) {
        this.#pace.note(performance.now() - from);
        this.#slots.release();
      }
    }
  }

  #attempt(job: Job, signal: StopSignal): Outcome | Promise<Outcome> {
    let making: ReturnType<typeof toEvent>;
    try {
      making = toEvent(job, this.#options);
    } catch (error) {
      return this.#notUnderstood(error, signal);
    }
    if (!isPromise(making)) return this.#handle(job, making, signal);
    return this.#inTime(making, signal).then(
      (event) => this.#handle(job, event, signal),
      (error: unknown) => this.#notUnderstood(error, signal),
    );
  }

  #handle(job: Job, event: EventOf | null, signal: StopSignal): Outcome | Promise<Outcome> {
    if (event === null) return notAnObject;
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

  #notUnderstood(error: unknown, signal: StopSignal): Outcome {
    if (signal.aborted) return stopped;
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
