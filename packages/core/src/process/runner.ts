import { ReporthookError } from "../errors.ts";
import type { Job, Outcome, Stage } from "../inbox/delivery.ts";
import type { Consumer } from "../inbox/inbox.ts";
import { silentMs } from "../inbox/shared-inbox.ts";
import { StopController, type StopSignal } from "../lib/abort.ts";
import { quietTimeout } from "../lib/clock.ts";
import { describe } from "../lib/describe.ts";
import { oncePerMinute, oncePerMinuteEach } from "../lib/log.ts";
import { isTiedToRequests } from "../lib/platform.ts";
import { later } from "../lib/real-timers.ts";
import { shownFields } from "../lib/thrown.ts";
import { isDoneIn } from "../lib/timeout.ts";
import { observe } from "../observe/hooks.ts";
import type { Around } from "../observe/instrumentation.ts";
import { logOutcome } from "../observe/log-lines.ts";
import type { Settings } from "../options/settings.ts";
import type { Worker } from "./stages.ts";

/** Runs the two stages of a receiver: starts them, waits for them, ends them. */
export interface Engine {
  /** `on` is over: the work was asked to begin. */
  readonly started: boolean;
  readonly closing: boolean;
  /** Idempotent; rejects when the inbox can't be opened. */
  start(): Promise<void>;
  /** Starts unless `autostart` is off; a failure is logged and tried again. */
  autostart(): void;
  idle(timeoutMs: number): Promise<void>;
  /** Ends the work; `requests` resolves when the last request of this receiver is answered. */
  close(timeoutMs: number, requests: () => Promise<unknown>): Promise<void>;
  /** Aborted when `close` runs out of time. */
  readonly signal: StopSignal;
  /** Resolves after the first attempt to handle this delivery, or when none is to come. */
  attempted(id: string): Promise<void>;
  /** No attempt to handle this delivery is to come. */
  forget(id: string): void;
  /** For what a hook throws. */
  onError(error: unknown): void;
  /** Drops what is no longer kept, at most once in `everyMs` milliseconds. Never rejects. */
  prune(everyMs: number): Promise<void>;
  /** Tells the hooks and the log, as after recorded work. */
  report(job: Job, outcome: Outcome): void;
}

/** Who waits for the first attempt to handle a delivery. */
interface Watcher {
  readonly over: Promise<void>;
  readonly end: () => void;
}

const pruneEveryMs = 60_000;
const pollMs = 5;
const longestAttemptMs = 25_000;
// The real timers, whatever a test replaces later: idle() must not wait for a virtual clock.
const { setTimeout: realTimeout, clearTimeout: clearRealTimeout } = globalThis;
const realNow = performance.now.bind(performance);
const longestMs = 2_147_483_647;

/** Makes the engine of one receiver; nothing runs before `start` or `autostart`. */
export function createEngine(settings: Settings, worker: Worker, around?: Around): Engine {
  const { bind, clean, clock, inbox, logger, name } = settings;
  const watchers = new Map<string, Watcher>();
  const ending = new StopController();
  const keeps = settings.ack === "stored";
  const { parked, ...others } = settings.observe;
  const hooks = keeps ? settings.observe : others;
  const unpruned = oncePerMinute(clock, logger.error);
  const inboxFailed = oncePerMinuteEach(clock, logger.error, "error");
  let consumers: Consumer[] = [];
  let started = false;
  let closing = false;
  let opening: Promise<void> | undefined;
  let failures = 0;
  let retryTimer: unknown;
  let prunedAt = Number.NEGATIVE_INFINITY;
  let alive: unknown;

  const onError = (error: unknown): void =>
    logger.error(shownFields(error, clean), "Work on a delivery failed unexpectedly.");
  // It says so of each delivery, or each second.
  const onInboxError = (error: unknown): void =>
    inboxFailed(
      { error: describe(error, clean) },
      "The inbox failed at its work on deliveries. Trying again.",
    );

  function report(job: Job, outcome: Outcome): void {
    observe(hooks, job, outcome, clock.now(), onError);
    logOutcome(logger, keeps, job, outcome);
    around?.settled(job, outcome);
  }

  function consume(stage: Stage): Consumer {
    // Any request may have woken the inbox: nothing is to run as that one.
    return inbox.consume(stage, bind(worker[stage]), {
      receiver: name,
      concurrency: settings.concurrency[stage],
      clock,
      onError: onInboxError,
      onRecorded: bind((job: Job, outcome: Outcome) => {
        report(job, outcome);
        const goesOn = outcome.to === "verified" || outcome.to === "again";
        if (stage === "handle" || !goesOn) forget(job.id);
        void prune(pruneEveryMs);
      }),
    });
  }

  function begin(): Promise<void> {
    if (!started) worker.begin();
    started = true;
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  }

  async function open(): Promise<void> {
    if (settings.ack === "handled") return;
    await inbox.open();
    if (closing) return;
    consumers = [consume("verify"), consume("handle")];
    void prune(pruneEveryMs);
  }

  async function prune(everyMs: number): Promise<void> {
    const isDue = Math.abs(clock.now() - prunedAt) >= everyMs;
    if (!keeps || closing || !isDue) return;
    prunedAt = clock.now();
    try {
      await inbox.prune(new Date(prunedAt));
    } catch (error) {
      if (closing) return;
      const fields = { error: describe(error, clean) };
      unpruned(fields, "What is no longer kept could not be deleted. Trying again.");
    }
  }

  async function start(): Promise<void> {
    if (closing) {
      throw new ReporthookError("closed", `Receiver ${name} is closed; make a new one`);
    }
    alive ??= setInterval(() => {}, longestMs);
    try {
      await begin();
    } catch (error) {
      endAlive();
      throw error;
    }
  }

  function endAlive(): void {
    clearInterval(alive as number);
    alive = undefined;
  }

  function autostart(): void {
    if (consumers.length > 0) void prune(pruneEveryMs);
    if (!settings.autostart || closing || opening !== undefined || retryTimer !== undefined) return;
    begin().catch((error: unknown) => {
      if (closing) return;
      const afterMs = Math.min(1_000 * 2 ** failures++, 30_000);
      logger.error(
        { error: describe(error), afterMs },
        "The inbox can't be opened: notifications are answered 503. Trying again.",
      );
      const retry = (): void => {
        retryTimer = undefined;
        autostart();
      };
      retryTimer = quietTimeout(clock, retry, afterMs);
    });
  }

  async function waiting(): Promise<string | null> {
    const { received, verified } = await inbox.counts(name);
    if (received + verified === 0) return null;
    const [first] = await inbox.list({
      receiver: name,
      state: received > 0 ? "received" : "verified",
      limit: 1,
    });
    const [error] = first?.lastError?.split("\n", 1) ?? [];
    const last = error ? `, last error: ${error}` : "";
    const example = first
      ? `; for example ${first.id} (${first.type ?? "not verified"}${last})`
      : "";
    const hint = started ? "" : "; the receiver is not started";
    return `${received} received, ${verified} verified${example}${hint}`;
  }

  async function idle(timeoutMs: number): Promise<void> {
    const until = realNow() + timeoutMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silent = new Promise<string>((resolve) => {
      const say = (): void => resolve("the inbox gives no answer");
      timer = realTimeout(say, Math.min(timeoutMs + silentMs, longestMs));
    });
    try {
      for (;;) {
        const what = await Promise.race([waiting(), silent]);
        if (what === null) return;
        if (!(realNow() < until)) {
          throw new ReporthookError(
            "not_idle",
            `Receiver ${name} is not idle after ${timeoutMs} ms: ${what}`,
          );
        }
        await new Promise<void>((resolve) => later(resolve, pollMs));
      }
    } finally {
      clearRealTimeout(timer);
    }
  }

  async function close(timeoutMs: number, requests: () => Promise<unknown>): Promise<void> {
    closing = true;
    worker.stopVerifying();
    clock.clearTimeout(retryTimer);
    const work = consumers.map((consumer) => consumer.stop().catch(onError));
    const ended = Promise.all([opening?.catch(() => {}), ...work, requests()]);
    if (!(await isDoneIn(clock, timeoutMs, ended))) {
      ending.abort(new Error("The receiver is closing"));
      const aborted = consumers.map((consumer) => consumer.abort().catch(onError));
      await isDoneIn(clock, silentMs, Promise.all(aborted));
    }
    for (const id of watchers.keys()) forget(id);
    endAlive();
  }

  async function attempted(id: string): Promise<void> {
    let end = (): void => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    watchers.set(id, { over, end });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => {
      timer = realTimeout(resolve, longestAttemptMs);
      (timer as { unref?: () => void }).unref?.();
    });
    // What waits for another try may be run by this request, and would end with it.
    const others = () => Promise.all([...watchers.values()].map((watcher) => watcher.over));
    await Promise.race([isTiedToRequests() ? over.then(others) : over, late]);
    clearRealTimeout(timer);
    forget(id);
  }

  function forget(id: string): void {
    if (watchers.size === 0) return;
    watchers.get(id)?.end();
    watchers.delete(id);
  }

  return {
    get started() {
      return started;
    },
    get closing() {
      return closing;
    },
    signal: ending.signal,
    start,
    autostart,
    idle,
    close,
    attempted,
    forget,
    prune,
    onError,
    report,
  };
}
