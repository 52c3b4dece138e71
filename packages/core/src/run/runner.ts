import { ReporthookError } from "../errors.ts";
import type { HandleStage } from "../handle/handle-stage.ts";
import type { Connections } from "../http/connections.ts";
import type { Life, Phase } from "../inbox/receiver-inbox.ts";
import { silentMs } from "../inbox/receivers.ts";
import { StopController, type StopSignal } from "../lib/abort.ts";
import { describe } from "../lib/describe.ts";
import { oncePerMinute } from "../lib/log.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import { FirstAttempts } from "../observe/first-attempts.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { VerifyStage } from "../verify/verify-stage.ts";
import { Consumers } from "./consumers.ts";

const retryMaxMs = 30_000;
const intervalMaxMs = 2_147_483_647;

/** The life of a receiver: starts its work, and ends it. */
export class Runner implements Life {
  readonly firstAttempts: FirstAttempts = new FirstAttempts();
  readonly #settings: ReceiverSettings;
  readonly #handle: HandleStage;
  readonly #reporter: Reporter;
  readonly #connections: Connections;
  readonly #consumers: Consumers;
  readonly #aborted = new StopController();
  #phase: Phase = "new";
  #failures = 0;
  #retryTimer: unknown;
  #keepAlive: unknown;

  constructor(
    settings: ReceiverSettings,
    verify: VerifyStage,
    handle: HandleStage,
    reporter: Reporter,
    connections: Connections,
  ) {
    const { clock, logger, time } = settings;
    this.#settings = settings;
    this.#handle = handle;
    this.#reporter = reporter;
    this.#connections = connections;
    this.#consumers = new Consumers(settings, verify, handle, reporter, this.firstAttempts);
    const clockSet = oncePerMinute(clock, logger.warn);
    time.clock.onStep = (ms) => {
      clockSet({ ms }, messages.clockSet);
      void time.keep();
    };
  }

  get phase(): Phase {
    return this.#phase;
  }

  get note(): string | null {
    return this.#consumers.note;
  }

  /** Whether what is stored now is worked on here. */
  get takesOn(): boolean {
    return this.#phase !== "new" && !this.#consumers.isStopped;
  }

  /** Aborted when {@link close} runs out of time. */
  get signal(): StopSignal {
    return this.#aborted.signal;
  }

  /** Whether {@link close} was called. */
  get isClosing(): boolean {
    return this.#phase === "closing" || this.#phase === "closed";
  }

  /** Starts by hand, and keeps the process alive. Idempotent; rejects when the inbox can't be opened. */
  async start(): Promise<void> {
    if (this.isClosing) {
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
    const { isOpening, isStopped } = this.#consumers;
    if (!autostart || isStopped || isOpening || this.#retryTimer !== undefined) return;
    this.#begin().catch((error: unknown) => {
      if (this.isClosing) return;
      const afterMs = Math.min(1_000 * 2 ** this.#failures++, retryMaxMs);
      logger.error({ error: describe(error), afterMs }, messages.inboxNotOpened);
      const retry = (): void => {
        this.#retryTimer = undefined;
        this.ensureStarted();
      };
      this.#retryTimer = setUnrefTimeout(clock, retry, afterMs);
    });
  }

  #begin(): Promise<void> {
    if (this.#phase === "new") {
      this.#phase = "working";
      this.#handle.begin();
      this.#reporter.begin();
    }
    return this.#consumers.open();
  }

  /** Called with each request: starts the work, or prunes what it works on. */
  attend(): void {
    if (this.#consumers.isWorking) void this.#consumers.prune();
    else this.ensureStarted();
  }

  /** Called before lists: what they show is over for a second at most. Never rejects. */
  prune(): Promise<void> {
    return this.#consumers.prune(1_000);
  }

  /**
   * Ends the work within `timeoutMs` milliseconds; `requests` resolves when the requests of that moment are answered. Until the
   * work has ended, notifications are stored.
   */
  async close(timeoutMs: number, requests: () => Promise<unknown>): Promise<void> {
    const { clock, inbox, logger, name, time } = this.#settings;
    this.#phase = "closing";
    clock.clearTimeout(this.#retryTimer);
    this.#connections.close();
    const isInTime = await settlesWithin(clock, timeoutMs, this.#finish(requests));
    this.#phase = "closed";
    this.#connections.stop();
    void this.#consumers.stop();
    if (!isInTime) {
      this.#aborted.abort(new Error("The receiver is closing"));
      await settlesWithin(clock, silentMs, this.#consumers.abort());
    }
    await requests();
    this.firstAttempts.settleAll();
    await time.end();
    this.#letProcessEnd();
    const isLost = inbox.guarantees.durability === "process";
    const waiting = isLost ? inbox.backlog(name).waiting : 0;
    if (waiting > 0) logger.error({ waiting }, messages.closedWhileWaiting);
  }

  /** Finishes what this process alone can do; meanwhile more may come on the connections of closed servers. */
  async #finish(requests: () => Promise<unknown>): Promise<void> {
    const { ack, inbox, name } = this.#settings;
    const consumers = this.#consumers;
    const connections = this.#connections;
    // Another process goes on with what a durable inbox has; nothing is stored with `ack: "handled"`.
    const isDurable = inbox.guarantees.durability !== "process";
    const isUnused = !consumers.isWorking && inbox.backlog(name).waiting === 0;
    if (ack === "stored" && (isDurable || (isUnused && connections.isQuiet))) void consumers.stop();
    else await consumers.hurry();
    await requests();
    do await Promise.all([connections.quiet(), consumers.workOff()]);
    while (!connections.isQuiet || consumers.left > 0);
    this.#phase = "closed";
    await requests();
    await consumers.workOff();
    await consumers.stop();
  }

  #letProcessEnd(): void {
    clearInterval(this.#keepAlive as number);
    this.#keepAlive = undefined;
  }
}
