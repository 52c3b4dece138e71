import { quietTimeout } from "./clock.ts";
import type { Job, Outcome, Stage } from "./delivery.ts";
import { describe, ReporthookError } from "./errors.ts";
import type { Consumer } from "./inbox.ts";
import { observe } from "./observe.ts";
import type { Settings } from "./options.ts";
import type { Worker } from "./worker.ts";

/** Runs the two stages of a receiver: starts them, waits for them, ends them. */
export interface Engine {
  /** `on` is over: the work has begun, or was asked to. */
  readonly started: boolean;
  readonly closing: boolean;
  /** Idempotent; rejects when the inbox can't be opened. */
  start(): Promise<void>;
  /** Starts unless `autostart` is off; a failure is logged and tried again. */
  autostart(): void;
  idle(timeoutMs: number): Promise<void>;
  /** Ends the work; `requests` resolves when the last request of this receiver is answered. */
  close(timeoutMs: number, requests: () => Promise<unknown>): Promise<void>;
  /** Resolves after the first attempt to handle this delivery, or when there is none to come. */
  attempted(id: string): Promise<void>;
  /** Tells the hooks, as after recorded work. */
  observe(job: Job, outcome: Outcome): void;
}

const pruneEveryMs = 60_000;
const pollMs = 5;
// The real timers, whatever a test replaces later: idle() must not wait for a virtual clock.
const { setTimeout: realTimeout, clearTimeout: clearRealTimeout } = globalThis;

/** Makes the engine of one receiver; nothing runs before `start` or `autostart`. */
export function createEngine(settings: Settings, worker: Worker): Engine {
  const { clock, inbox, logger, name } = settings;
  const watchers = new Map<string, () => void>();
  let consumers: Consumer[] = [];
  let started = false;
  let opening: Promise<void> | undefined;
  let closed: Promise<void> | undefined;
  let failures = 0;
  let pruneTimer: unknown;
  let alive: unknown;

  const onError = (error: unknown): void =>
    logger.error(
      { receiver: name, error: describe(error) },
      "Work on a delivery failed unexpectedly.",
    );

  function observeOutcome(job: Job, outcome: Outcome): void {
    observe(settings.observe, job, outcome, clock.now(), onError);
  }

  function consume(stage: Stage): Consumer {
    const work = async (job: Job, signal: AbortSignal): Promise<Outcome> => {
      const outcome = await worker[stage](job, signal);
      observeOutcome(job, outcome);
      if (stage === "handle" || outcome.to !== "verified") watchers.get(job.id)?.();
      return outcome;
    };
    return inbox.consume(stage, work, {
      receiver: name,
      concurrency: settings.concurrency[stage],
      clock,
      onError,
    });
  }

  function start(): Promise<void> {
    if (closed !== undefined) {
      return Promise.reject(
        new ReporthookError("closed", `Receiver ${name} is closed; make a new one`),
      );
    }
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
    if (closed !== undefined || consumers.length > 0) return;
    consumers = [consume("verify"), consume("handle")];
    prune();
  }

  function prune(): void {
    pruneTimer = quietTimeout(clock, prune, pruneEveryMs);
    inbox.prune(new Date(clock.now())).catch(onError);
  }

  function autostart(): void {
    if (started || !settings.autostart || closed !== undefined) return;
    start().then(
      () => {
        failures = 0;
      },
      (error: unknown) => {
        started = false;
        const afterMs = Math.min(1_000 * 2 ** failures++, 30_000);
        const fields = { receiver: name, error: describe(error), afterMs };
        logger.error(
          fields,
          "The inbox can't be opened: notifications are answered 503. Trying again.",
        );
        quietTimeout(clock, autostart, afterMs);
      },
    );
  }

  async function waiting(): Promise<string | null> {
    const { received, verified } = await inbox.counts(name);
    if (received + verified === 0) return null;
    const [first] = await inbox.list({
      receiver: name,
      state: received > 0 ? "received" : "verified",
      limit: 1,
    });
    const last = first?.lastError ? `, last error: ${first.lastError}` : "";
    const example = first
      ? `; for example ${first.id} (${first.type ?? "not verified"}${last})`
      : "";
    const hint = started ? "" : "; the receiver is not started";
    return `${received} received, ${verified} verified${example}${hint}`;
  }

  async function idle(timeoutMs: number): Promise<void> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const what = await waiting();
      if (what === null) return;
      if (performance.now() >= until) {
        throw new ReporthookError(
          "not_idle",
          `Receiver ${name} is not idle after ${timeoutMs} ms: ${what}`,
        );
      }
      await new Promise((resolve) => realTimeout(resolve, pollMs));
    }
  }

  async function close(timeoutMs: number, requests: () => Promise<unknown>): Promise<void> {
    worker.stopVerifying();
    clock.clearTimeout(pruneTimer);
    await opening?.catch(() => {});
    const ended = Promise.all([...consumers.map((consumer) => consumer.stop()), requests()]);
    let timer: unknown;
    const late = new Promise<"late">((resolve) => {
      timer = clock.setTimeout(() => resolve("late"), timeoutMs);
    });
    const how = await Promise.race([ended, late]);
    clock.clearTimeout(timer);
    if (how === "late") await Promise.all(consumers.map((consumer) => consumer.abort()));
    for (const watcher of watchers.values()) watcher();
    clearInterval(alive as number);
  }

  return {
    get started() {
      return started;
    },
    get closing() {
      return closed !== undefined;
    },
    start() {
      const starting = start();
      return starting.then(() => {
        alive ??= setInterval(() => {}, 2_147_483_647);
      });
    },
    autostart,
    idle,
    close(timeoutMs, requests) {
      closed ??= close(timeoutMs, requests);
      return closed;
    },
    attempted(id) {
      return new Promise((resolve) => {
        const timer = realTimeout(done, 25_000);
        (timer as { unref?: () => void }).unref?.();
        function done(): void {
          clearRealTimeout(timer);
          watchers.delete(id);
          resolve();
        }
        watchers.set(id, done);
      });
    },
    observe: observeOutcome,
  };
}
