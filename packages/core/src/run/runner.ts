import { ReporthookError } from "../errors.ts";
import type { HandleStage } from "../handle/handle-stage.ts";
import type { Connections } from "../http/connections.ts";
import type { Job, Outcome, Stage } from "../inbox/delivery.ts";
import type { Status } from "../inbox/health.ts";
import type { Consumer, InboxNotice, IsLeased, Processor } from "../inbox/inbox.ts";
import { silentMs } from "../inbox/inbox-reference-count.ts";
import { StopController, type StopSignal } from "../lib/abort.ts";
import { describe } from "../lib/describe.ts";
import { type Logger, oncePerMinuteEach } from "../lib/log.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { FirstAttempts } from "../observe/first-attempts.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { VerifyStage } from "../verify/verify-stage.ts";
import { LastAttempts } from "./last-attempts.ts";
import { noticeText } from "./notice-text.ts";
import type { Pruner } from "./pruner.ts";

/** The parts of {@link Runner}. */
export interface RunnerParts {
  readonly stages: { readonly verify: VerifyStage; readonly handle: HandleStage };
  readonly reporter: Reporter;
  readonly firstAttempts: FirstAttempts;
  readonly connections: Connections;
  readonly pruner: Pruner;
  readonly status: Status;
}

const retryMaxMs = 30_000;
const intervalMaxMs = 2_147_483_647;

/** Runs the two stages of a receiver on its inbox: starts them, reports outcomes, and ends them. */
export class Runner {
  readonly #settings: ReceiverSettings;
  readonly #parts: RunnerParts;
  readonly #aborted = new StopController();
  readonly #lastAttempts: LastAttempts;
  readonly #inboxFailed: Logger["warn"];
  #consumers: readonly Consumer[] = [];
  #stopping: Promise<unknown> = Promise.resolve();
  #recorded = (): void => {};
  #opening: Promise<void> | undefined;
  #failures = 0;
  #retryTimer: unknown;
  #keepAlive: unknown;

  constructor(settings: ReceiverSettings, parts: RunnerParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#lastAttempts = new LastAttempts(settings);
    this.#inboxFailed = oncePerMinuteEach(settings.clock, settings.logger.error, "error");
    settings.time.onError = this.#failed;
  }

  /** Whether the inbox is open and its deliveries are worked on. */
  get working(): boolean {
    return this.#consumers.length > 0;
  }

  /** Aborted when {@link close} runs out of time. */
  get signal(): StopSignal {
    return this.#aborted.signal;
  }

  /** Starts by hand, and keeps the process alive. Idempotent; rejects when the inbox can't be opened. */
  async start(): Promise<void> {
    if (this.#parts.status.closing) {
      const message = `Receiver ${this.#settings.name} is closed; make a new one`;
      throw new ReporthookError("closed", message);
    }
    this.#keepAlive ??= setInterval(() => {}, intervalMaxMs);
    try {
      await this.#begin();
    } catch (error) {
      this.#letProcessEnd();
      throw error;
    }
  }

  /** Starts unless `autostart` is off; a failure is logged, and tried again later. */
  ensureStarted(): void {
    const { autostart, clock, logger } = this.#settings;
    if (!autostart || this.#parts.status.stopped || this.#opening || this.#retryTimer !== undefined)
      return;
    this.#begin().catch((error: unknown) => {
      if (this.#parts.status.closing) return;
      const afterMs = Math.min(1_000 * 2 ** this.#failures++, retryMaxMs);
      logger.error({ error: describe(error), afterMs }, messages.inboxNotOpened);
      const retry = (): void => {
        this.#retryTimer = undefined;
        this.ensureStarted();
      };
      this.#retryTimer = setUnrefTimeout(clock, retry, afterMs);
    });
  }

  /**
   * Ends the work within `timeoutMs` milliseconds; `requests` resolves when the requests of that moment are answered. Until the
   * work has ended, notifications are stored.
   */
  async close(timeoutMs: number, requests: () => Promise<unknown>): Promise<void> {
    const { clock, time } = this.#settings;
    const { connections, firstAttempts, pruner, reporter, status } = this.#parts;
    status.closing = true;
    connections.close();
    pruner.stop();
    const isInTime = await settlesWithin(clock, timeoutMs, this.#finish(requests));
    status.closed = true;
    connections.stop();
    void this.#stop();
    if (!isInTime) {
      this.#aborted.abort(new Error("The receiver is closing"));
      const aborting = this.#consumers.map((one) => one.abort().catch(reporter.unexpected));
      await settlesWithin(clock, silentMs, Promise.all(aborting));
    }
    await requests();
    firstAttempts.settleAll();
    await time.end();
    this.#letProcessEnd();
  }

  /** Finishes what this process alone can do; meanwhile more may come on the connections of closed servers. */
  async #finish(requests: () => Promise<unknown>): Promise<void> {
    const { connections, status } = this.#parts;
    const { ack, inbox } = this.#settings;
    const isDurable = inbox.guarantees.durability !== "process";
    const isUnused = !this.working && this.#lastAttempts.left === 0 && connections.isQuiet;
    if (ack === "stored" && (isDurable || isUnused)) void this.#stop();
    else await this.#lastAttempts.begin();
    await requests();
    do await Promise.all([connections.quiet(), status.stopped ? this.#stop() : this.#workOff()]);
    while (!connections.isQuiet || this.#left > 0);
    status.closed = true;
    await requests();
    await this.#workOff();
    await this.#stop();
  }

  /** Resolves once each delivery of an inbox in memory has had its last attempt. */
  async #workOff(): Promise<void> {
    await this.#opening?.catch(() => {});
    while (this.#left > 0) {
      await new Promise<void>((resolve) => {
        this.#recorded = resolve;
      });
    }
  }

  get #left(): number {
    return this.working && !this.#parts.status.stopped ? this.#lastAttempts.left : 0;
  }

  /** Begins no more work; resolves when the running jobs have ended. */
  #stop(): Promise<unknown> {
    const { reporter, stages, status } = this.#parts;
    if (!status.stopped) {
      status.stopped = true;
      stages.verify.stop();
      this.#settings.clock.clearTimeout(this.#retryTimer);
      const ending = this.#consumers.map((consumer) => consumer.stop().catch(reporter.unexpected));
      this.#stopping = Promise.all([this.#opening?.catch(() => {}), ...ending]);
    }
    return this.#stopping;
  }

  #begin(): Promise<void> {
    const { reporter, stages, status } = this.#parts;
    if (!status.started) {
      stages.handle.begin();
      reporter.begin();
    }
    status.started = true;
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<void> {
    const { ack, inbox, time } = this.#settings;
    if (ack === "handled") return;
    await inbox.open();
    await time.join();
    if (this.#parts.status.stopped) return;
    time.begin();
    this.#consumers = [this.#consume("verify"), this.#consume("handle")];
    void this.#parts.pruner.prune();
  }

  #consume(stage: Stage): Consumer {
    const { bind, clock, concurrency, inbox, name } = this.#settings;
    const { firstAttempts, pruner, reporter, stages } = this.#parts;
    const verify: Processor = (job, signal) => stages.verify.run(job, signal);
    const handle: Processor = (job, signal, isLeased) =>
      stages.handle.run(job, signal, () => this.#mayBegin(isLeased));
    const handleAtOnce: typeof stages.handle.runAtOnce = (job, signal, isLeased) =>
      stages.handle.runAtOnce(job, signal, () => this.#mayBegin(isLeased));
    // Any request may have started this: nothing may run in its async context.
    return inbox.consume(stage, bind(stage === "verify" ? verify : handle), {
      receiver: name,
      get concurrency() {
        return stage === "verify" ? concurrency.verify : stages.handle.concurrency;
      },
      clock,
      // Called for each delivery, or each second.
      onError: this.#failed,
      onNotice: (notice) => this.#noticed(notice),
      ...(stage === "verify" && { handleAtOnce: bind(handleAtOnce) }),
      onRecorded: bind((job: Job, outcome: Outcome) => {
        reporter.settled(job, outcome);
        const goesOn = outcome.to === "verified" || outcome.to === "retry";
        if (job.stage === "handle" || !goesOn) firstAttempts.settle(job.id);
        void pruner.prune();
        this.#lastAttempts.recorded(job, outcome);
        this.#recorded();
      }),
    });
  }

  #noticed(notice: InboxNotice): void {
    const { logger, redact } = this.#settings;
    const what = redact(noticeText(notice));
    const isOther = notice.what === "took_over";
    logger.warn({ what }, isOther ? messages.tookOver : messages.stoodStill);
    if (isOther) return;
    this.#parts.status.note = { text: `This process ${what}`, since: performance.now() };
  }

  readonly #failed = (error: unknown): void => {
    const { redact } = this.#settings;
    this.#inboxFailed({ error: describe(error, redact) }, messages.inboxFailed);
  };

  /** Whether a delivery that waited for a slot may be handled: this process may have stood still and lost its lease. */
  #mayBegin(isLeased?: IsLeased): boolean | Promise<boolean> {
    return !this.#parts.status.stopped && (isLeased?.() ?? true);
  }

  #letProcessEnd(): void {
    clearInterval(this.#keepAlive as number);
    this.#keepAlive = undefined;
  }
}
