import { lacksToken, noToken } from "../callback-urls/callback-url.ts";
import { ReporthookError } from "../errors.ts";
import type { EventOf } from "../events/events.ts";
import { type Recognizer, toObject } from "../events/recognize.ts";
import {
  cutOff,
  type Job,
  type Outcome,
  park,
  type Recognized,
  retryIn,
} from "../inbox/delivery.ts";
import type { Lease } from "../inbox/inbox.ts";
import type { StopSignal } from "../lib/abort.ts";
import { isPromise } from "../lib/is-promise.ts";
import { Semaphore } from "../lib/semaphore.ts";
import { describe } from "../lib/text/describe.ts";
import { accountOf, shownError } from "../lib/thrown.ts";
import { Pace } from "../lib/time/pace.ts";
import { withTimeout } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { KnownJob, KnownRequests } from "../reports/known-requests.ts";
import { overdueEvent } from "../reports/request.ts";
import { afterFailure } from "./after-failure.ts";
import { dispatch, type Handlers } from "./handlers.ts";
import { toEvent } from "./to-event.ts";

const forgotten: Outcome = { to: "handled", error: "no handler ran: its request is not known" };
const notAnObject = park("dead", "not_understood", "The body is not a JSON object.");

/** The handle stage: makes a verified delivery an event, runs its handlers, and decides about a retry. */
export class HandleStage {
  readonly #settings: ReceiverSettings;
  readonly #recognizer: Recognizer;
  readonly #reporter: Reporter;
  readonly #known: KnownRequests;
  readonly #handlers: Handlers;
  readonly #slots: Semaphore;
  readonly #pace = new Pace();
  #atOnce = 0;
  #stopped = false;

  constructor(
    settings: ReceiverSettings,
    recognizer: Recognizer,
    reporter: Reporter,
    known: KnownRequests,
    handlers: Handlers,
  ) {
    this.#settings = settings;
    this.#recognizer = recognizer;
    this.#reporter = reporter;
    this.#known = known;
    this.#handlers = handlers;
    this.#slots = new Semaphore(settings.concurrency.handle);
  }

  /** Begins the work: warns if no handler is registered. */
  begin(): void {
    const { logger } = this.#settings;
    if (this.#handlers.isEmpty) logger.warn({}, messages.noHandlers);
  }

  /** Begins no more of those that wait for a slot; running handlers continue. */
  stop(): void {
    this.#stopped = true;
  }

  get running(): number {
    return this.#slots.taken;
  }

  /** The number of deliveries to claim at a time, beside those that {@link handleAtOnce} runs. */
  get concurrency(): number {
    return Math.max(1, this.#settings.concurrency.handle - this.#atOnce);
  }

  /** Handles a delivery right after its verdict, if a slot is free; with short handlers it waits for one. Null: later. */
  handleAtOnce(job: Job, lease: Lease): Promise<Outcome> | null {
    const { verify } = this.#settings.concurrency;
    const waitingMax = this.#pace.isShort ? verify : 0;
    return this.#slots.free + waitingMax <= 0 ? null : this.run(job, lease, 1);
  }

  /**
   * Handles one delivery once a slot is free; `atOnce` counts those that are handled right after their verdict. An unexpected
   * failure is an attempt like any other: retries must come to an end. Each method below calls the next one: the request of the
   * delivery, its event, each event once, the handlers.
   */
  async run(job: Job, lease: Lease, atOnce: 0 | 1 = 0): Promise<Outcome> {
    const { signal } = lease;
    this.#atOnce += atOnce;
    const acquiring = this.#slots.acquire(job.arrivedAt, signal);
    const waits = isPromise(acquiring);
    const hasSlot: boolean = waits ? await acquiring : acquiring;
    const from = performance.now();
    try {
      // After a wait, for this process may have stood still and lost the job.
      const mayBegin = hasSlot && (!waits || (!this.#stopped && (await lease.isHeld())));
      if (!mayBegin) return cutOff;
      if (job.requestId === null) return await this.#attempt(job, signal);
      return await this.#ofRequest(job, signal);
    } catch (error) {
      return signal.aborted ? cutOff : afterFailure(job, [error], this.#settings);
    } finally {
      this.#atOnce -= atOnce;
      if (hasSlot) {
        this.#pace.note(performance.now() - from);
        this.#slots.release();
      }
    }
  }

  /** Handles a delivery of a request: with its context, and each of its events by one delivery. */
  async #ofRequest(job: Job, signal: StopSignal): Promise<Outcome> {
    const known = await this.#known.withRequest(job).catch(this.#inboxAway);
    return "to" in known ? known : this.#attempt(known, signal);
  }

  async #attempt(job: KnownJob, signal: StopSignal): Promise<Outcome> {
    let event: EventOf | null;
    try {
      if (job.type === "report.overdue") {
        const { request } = job;
        return request ? this.#unlessRepeated(job, overdueEvent(job, request), signal) : forgotten;
      }
      const making = toEvent(job, this.#recognizer, this.#settings.schemas);
      event = isPromise(making) ? await this.#inTime(making, signal) : making;
    } catch (error) {
      return this.#notUnderstood(error, signal);
    }
    return event === null ? notAnObject : this.#handle(job, event, signal);
  }

  #handle(job: KnownJob, event: EventOf, signal: StopSignal): Outcome | Promise<Outcome> {
    const isReused = job.sameSignatureAs !== null && !job.released;
    if (isReused && this.#settings.reusedSignature === "hold") {
      const message = `Its signature came with other bytes, or at another address: ${job.sameSignatureAs}. Release it if you trust both.`;
      return park("held", "reused_signature", message);
    }
    // It was verified before the option was set.
    if (event.type.startsWith("report.") && lacksToken(job, this.#settings.callbacks)) {
      return park("held", "no_token", noToken);
    }
    const isTrusted = event.verification !== "unsigned" || job.released;
    return job.requestId !== null && isTrusted
      ? this.#unlessRepeated(job, event, signal)
      : this.#dispatch(job, event, signal);
  }

  /** Handles an event of a request, unless another delivery brought it. */
  async #unlessRepeated(job: KnownJob, event: EventOf, signal: StopSignal): Promise<Outcome> {
    const { logger } = this.#settings;
    const { id, requestId } = job;
    const { type } = event;
    const recognized = recognizedOf(event);
    const { reportId } = recognized;
    const brought = await this.#known.bring(job, type, reportId).catch(this.#inboxAway);
    if (brought === null) return this.#dispatch(job, event, signal);
    if ("to" in brought) return brought;
    const { request, repeats, isAnotherEnd } = brought;
    if (repeats !== null) {
      logger.info?.({ id, requestId, why: repeats }, messages.repeated);
      return { to: "handled", ...recognized, error: repeats };
    }
    if (isAnotherEnd) {
      logger.warn({ id, requestId, type, state: request.state }, messages.anotherEnd);
    }
    const outcome = await this.#dispatch(job, event, signal, request.traceparent);
    if (outcome.to === "handled") {
      await this.#known.done(request, type, id).catch(this.#reporter.unexpected);
    }
    return outcome;
  }

  #dispatch(
    job: Job,
    event: EventOf,
    signal: StopSignal,
    traceparent?: string,
  ): Outcome | Promise<Outcome> {
    const recognized = recognizedOf(event);
    const handlers = this.#handlers.of(event, job.released);
    if (handlers.length === 0) return this.#withoutHandler(job, recognized);
    const { clock, handlerTimeoutMs: ms } = this.#settings;
    const run = () => dispatch(handlers, event, job.attempts + 1, { clock, ms, parent: signal });
    return this.#reporter.handle(job, run, traceparent).then((failures) => {
      if (failures.length === 0) return { to: "handled", ...recognized };
      if (signal.aborted) return cutOff;
      return { ...afterFailure(job, failures, this.#settings), ...recognized };
    });
  }

  #inTime<T>(validating: Promise<T>, signal: StopSignal): Promise<T> {
    const { clock, handlerTimeoutMs: ms } = this.#settings;
    const late = `The schema took longer than handlerTimeoutMs (${ms} ms)`;
    return withTimeout({ clock, ms, late, parent: signal }, () => validating);
  }

  #notUnderstood(error: unknown, signal: StopSignal): Outcome {
    if (signal.aborted) return cutOff;
    const { redact } = this.#settings;
    const text = describe(error, redact);
    const isMismatch = error instanceof ReporthookError && error.code === "schema_mismatch";
    if (isMismatch) return park("dead", "schema_mismatch", text, text);
    const outcome = park("dead", "not_understood", text, accountOf(error, redact));
    return { ...outcome, err: shownError(error, redact) };
  }

  /** The outcome while the inbox gives no answer about a request. */
  readonly #inboxAway = (error: unknown): Outcome =>
    retryIn(1_000, describe(error, this.#settings.redact), { countsAsAttempt: false });

  /** An unknown event is held; a test or a report is handled, and shown as `no handler ran`. */
  #withoutHandler(job: Job, recognized: Recognized): Outcome {
    const { type } = recognized;
    if (type === "unknown") {
      const keys = Object.keys(toObject(job.body) ?? {}).slice(0, 20);
      const shown = keys.length === 0 ? "no key" : `the keys ${keys.join(", ").slice(0, 500)}`;
      const message =
        `No handler for an unknown notification with ${shown}: ` +
        'register one for "unknown" or teach parse its shape, then release it.';
      return { ...park("held", "no_handler", message), ...recognized };
    }
    if (job.requestId === null) {
      this.#settings.oncePerMinute.warn({ id: job.id, type }, messages.noHandler, type);
    }
    return { to: "handled", ...recognized, error: "no handler ran" };
  }
}

function recognizedOf(event: EventOf): Recognized {
  return { type: event.type, reportId: "reportId" in event ? event.reportId : null };
}
