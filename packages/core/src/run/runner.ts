import { ReporthookError } from "../errors.ts";
import type { Connections } from "../http/connections.ts";
import { hangMs, type Phase } from "../inbox/receivers.ts";
import { StopController, type StopSignal } from "../lib/abort.ts";
import { describe } from "../lib/text/describe.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Work } from "./work.ts";

const retryMaxMs = 30_000;
/** Milliseconds after a failure in which requests do not have the inbox opened again. */
const openAgainMs = 1_000;
const intervalMaxMs = 2_147_483_647;

/** The life of a receiver: starts its work, and ends it. */
export class Runner {
  phase: Phase = "new";
  readonly #work: Work;
  readonly #settings: ReceiverSettings;
  readonly #connections: Connections;
  readonly #aborted = new StopController();
  #failures = 0;
  /** Why the inbox could not be opened the last time, and when. */
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  #retryTimer: unknown;
  #keepAlive: unknown;

  constructor(settings: ReceiverSettings, work: Work, connections: Connections) {
    this.#settings = settings;
    this.#work = work;
    this.#connections = connections;
  }

  /** Whether what is stored now is worked on here. */
  get takesOn(): boolean {
    return this.phase !== "new" && !this.#work.isStopped;
  }

  /**
   * Resolves once a delivery may be stored; null if nothing has to be waited for. Where no work was begun, its inbox may be closed,
   * for `add` opens it: only lived time has to be joined, by which it arrives. Rejects when the inbox can't be opened.
   */
  prepare(): Promise<void> | null {
    const { clock, time } = this.#settings;
    if (this.phase !== "working") return time.isJoined ? null : time.join();
    if (this.#work.isWorking) return null;
    const failure = this.#failure;
    const isFresh = failure !== null && clock.running() - failure.at < openAgainMs;
    return isFresh && !this.#work.wasOpened ? Promise.reject(failure.error) : this.#begin();
  }

  /** Aborted when {@link close} runs out of time. */
  get signal(): StopSignal {
    return this.#aborted.signal;
  }

  /** Whether {@link close} was called. */
  get isClosing(): boolean {
    return this.phase === "closing" || this.phase === "closed";
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
    const { wasOpened, isStopped } = this.#work;
    if (!autostart || isStopped || wasOpened || this.#retryTimer !== undefined) return;
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

  async #begin(): Promise<void> {
    if (this.phase === "new") {
      this.phase = "working";
      this.#work.begin();
    }
    try {
      await this.#work.open();
    } catch (error) {
      this.#failure = { error, at: this.#settings.clock.running() };
      throw error;
    }
  }

  /** Ends the work within `timeoutMs` milliseconds. Until it has ended, notifications are stored. */
  async close(timeoutMs: number): Promise<void> {
    const { clock, inbox, logger, name } = this.#settings;
    this.phase = "closing";
    clock.clearTimeout(this.#retryTimer);
    this.#connections.close();
    const isInTime = await settlesWithin(clock, timeoutMs, this.#finish());
    this.phase = "closed";
    this.#connections.stop();
    // Also after the timeout, when #finish has not come so far.
    void this.#work.stop();
    if (!isInTime) {
      this.#aborted.abort(new Error("The receiver is closing"));
      await settlesWithin(clock, hangMs, this.#work.abort());
    }
    await this.#connections.decided();
    await this.#work.leave();
    this.#letProcessEnd();
    const isLost = inbox.guarantees.durability === "process";
    const waiting = isLost ? inbox.backlog(name).waiting : 0;
    if (waiting > 0) logger.error({ waiting }, messages.closedWhileWaiting);
  }

  /** Finishes what this process alone can do; meanwhile more may come on the connections of closed servers. */
  async #finish(): Promise<void> {
    const { ack, inbox, name } = this.#settings;
    const work = this.#work;
    const connections = this.#connections;
    const isDurable = inbox.guarantees.durability !== "process";
    const isUnused = !work.isWorking && inbox.backlog(name).waiting === 0;
    // The next process goes on with what waits in a durable inbox.
    const mayStop = ack === "stored" && (isDurable || (isUnused && connections.isQuiet));
    if (mayStop) void work.stop();
    else await work.lastAttempts.begin();
    await connections.decided();
    // Each may bring something for the other.
    do {
      await Promise.all([connections.quiet(), work.workOff()]);
    } while (!connections.isQuiet || work.left > 0);
    this.phase = "closed";
    // A request that was admitted before that may still store.
    await connections.decided();
    await work.workOff();
    await work.stop();
  }

  #letProcessEnd(): void {
    clearInterval(this.#keepAlive as number);
    this.#keepAlive = undefined;
  }
}
