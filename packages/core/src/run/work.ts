import type { HandleStage } from "../handle/handle-stage.ts";
import type { Presence } from "../health/presence.ts";
import type { Job, Outcome, Stage } from "../inbox/delivery.ts";
import type { Consumer, InboxNotice, Lease, Processor } from "../inbox/inbox.ts";
import { describe } from "../lib/text/describe.ts";
import { counted, inWords } from "../lib/text/in-words.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { OverdueSweep } from "../reports/overdue-sweep.ts";
import type { VerifyStage } from "../verify/verify-stage.ts";
import { LastAttempts } from "./last-attempts.ts";

/** The work of a receiver on its inbox: has the jobs of both stages run, reports their outcomes, and prunes. */
export class Work {
  /** Whether no more work is begun. */
  isStopped = false;
  readonly lastAttempts: LastAttempts;
  readonly #settings: ReceiverSettings;
  readonly #verify: VerifyStage;
  readonly #handle: HandleStage;
  readonly #reporter: Reporter;
  readonly #sweep: OverdueSweep;
  readonly #presence: Presence;
  #opening: Promise<void> | undefined;
  #consumers: readonly Consumer[] = [];
  #recorded = (): void => {};
  #prunedAt = Number.NEGATIVE_INFINITY;
  #pruning: Promise<void> | null = null;
  #stopping: Promise<unknown> = Promise.resolve();

  constructor(
    settings: ReceiverSettings,
    verify: VerifyStage,
    handle: HandleStage,
    reporter: Reporter,
    sweep: OverdueSweep,
    presence: Presence,
  ) {
    this.#settings = settings;
    this.#verify = verify;
    this.#handle = handle;
    this.#reporter = reporter;
    this.#sweep = sweep;
    this.#presence = presence;
    this.lastAttempts = new LastAttempts(settings);
    const { clock, oncePerMinute, time } = settings;
    time.onError = this.#failed;
    clock.onStep = (ms) => {
      oncePerMinute.warn({ ms }, messages.clockSet);
      void time.keep();
    };
  }

  /** Whether the inbox is open, or about to be. */
  get wasOpened(): boolean {
    return this.#opening !== undefined;
  }

  /** Whether the inbox is open and its deliveries are worked on. */
  get isWorking(): boolean {
    return this.#consumers.length > 0;
  }

  /** Called once, before the inbox is opened. */
  begin(): void {
    this.#handle.begin();
    this.#reporter.tell("begin");
  }

  /** Opens the inbox and has both stages work. Idempotent; rejects when the inbox can't be opened, and may be called again. */
  open(): Promise<void> {
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
    if (this.isStopped) return;
    // Not 60: the timer of a minute may come a millisecond before it by the clock, and lists prune meanwhile.
    time.begin(() => void this.prune(30_000));
    this.#presence.begin(this.#failed);
    this.#consumers = [this.#consume("verify"), this.#consume("handle")];
    void this.prune();
    this.#sweep.begin(this.#failed);
  }

  #consume(stage: Stage): Consumer {
    const { bind, clock, inbox, name } = this.#settings;
    const theStage = stage === "verify" ? this.#verify : this.#handle;
    const processor: Processor = (job, lease) =>
      this.lastAttempts.ofAttempt(job, theStage.run(job, lease));
    // Any request may have started this: nothing may run in its async context.
    return inbox.consume(stage, bind(processor), {
      receiver: name,
      clock,
      get concurrency() {
        return theStage.concurrency;
      },
      // Called for each delivery, or each second.
      onError: this.#failed,
      onRecorded: bind((job: Job, outcome: Outcome) => this.#onRecorded(job, outcome)),
      ...(stage === "verify" && {
        handleAtOnce: bind((job: Job, lease: Lease) => this.#handle.handleAtOnce(job, lease)),
        onNotice: (notice: InboxNotice) => this.#noticed(notice),
      }),
    });
  }

  #onRecorded(job: Job, outcome: Outcome): void {
    this.#reporter.tell("settled", job, outcome);
    this.lastAttempts.recorded(job, outcome);
    this.#recorded();
  }

  #noticed(notice: InboxNotice): void {
    const { logger, redact } = this.#settings;
    const what = redact(textOf(notice));
    const isOther = notice.what === "took_over";
    logger.warn({ what }, isOther ? messages.tookOver : messages.stoodStill);
    if (notice.what === "stood_still") this.#reporter.tell("stoodStill", notice.ms);
  }

  readonly #failed = (thrown: unknown): void => {
    const { oncePerMinute, redact } = this.#settings;
    const error = describe(thrown, redact);
    oncePerMinute.error({ error }, messages.inboxFailed, error);
  };

  /** Prunes the inbox, at most once in `everyMs` milliseconds; in the first hour nothing is over. Never rejects. */
  prune(everyMs = 60_000): Promise<void> {
    const { ack, clock } = this.#settings;
    const now = clock.now();
    if (ack !== "stored" || this.isStopped) return Promise.resolve();
    if (now - this.#prunedAt < everyMs) return this.#pruning ?? Promise.resolve();
    this.#prunedAt = now;
    this.#pruning ??= this.#pruneUpTo().finally(() => {
      this.#pruning = null;
    });
    return this.#pruning;
  }

  /** Once more if time has passed meanwhile: a virtual clock may leap over thousands of minutes. */
  async #pruneUpTo(): Promise<void> {
    let at: number;
    do {
      at = this.#prunedAt;
      await this.#prune();
    } while (at !== this.#prunedAt && !this.isStopped);
  }

  async #prune(): Promise<void> {
    const { inbox, oncePerMinute, redact, time } = this.#settings;
    const now = time.isYoung ? 0 : time.retentionNow;
    try {
      this.#reporter.tell("pruned", await inbox.prune(new Date(now)));
    } catch (error) {
      if (this.isStopped) return;
      oncePerMinute.error({ error: describe(error, redact) }, messages.notPruned);
    }
  }

  /** The number of deliveries that wait here for their last attempt. */
  get left(): number {
    return this.isWorking && !this.isStopped ? this.lastAttempts.left : 0;
  }

  /** Resolves once nothing is left, or the running jobs have ended after {@link stop}. */
  async workOff(): Promise<void> {
    await this.#opening?.catch(() => {});
    while (this.left > 0) {
      await new Promise<void>((resolve) => {
        this.#recorded = resolve;
      });
    }
    await this.#stopping;
  }

  /** Begins no more work; resolves when the running jobs have ended. */
  stop(): Promise<unknown> {
    if (!this.isStopped) {
      this.isStopped = true;
      this.#verify.stop();
      this.#handle.stop();
      const { unexpected } = this.#reporter;
      const ending = this.#consumers.map((consumer) => consumer.stop().catch(unexpected));
      this.#stopping = Promise.all([this.#opening?.catch(() => {}), this.#sweep.stop(), ...ending]);
    }
    return this.#stopping;
  }

  /** Gives the last sign of life, and keeps the time for the next process. Never rejects. */
  async leave(): Promise<void> {
    await this.#presence.end();
    await this.#settings.time.end();
  }

  /** Takes the running jobs back, as attempts that do not count. */
  async abort(): Promise<void> {
    const { unexpected } = this.#reporter;
    const { inbox, logger } = this.#settings;
    const { running } = this.#handle;
    const isKept = this.isWorking && inbox.guarantees.durability !== "process";
    if (isKept && running > 0) logger.warn({ running }, messages.interrupted);
    await Promise.all(this.#consumers.map((consumer) => consumer.abort().catch(unexpected)));
  }
}

/** A notice in words, without its subject. */
function textOf(notice: InboxNotice): string {
  if (notice.what === "stood_still") {
    const handedOn = notice.isHandedOn ? "; its deliveries were handed on" : "";
    return `stood still for ${inWords(notice.ms)}${handedOn}`;
  }
  const { deliveries, process, silentMs } = notice;
  return `took over ${counted(deliveries, "delivery", "deliveries")} of process ${process}, silent for ${inWords(silentMs)}`;
}
