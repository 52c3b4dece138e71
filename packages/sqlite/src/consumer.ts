import { setImmediate, setTimeout } from "node:timers";
import type { Consumer, Job, Outcome, Policy, Stage, Work } from "@reporthook/core";
import {
  again,
  describe,
  jobOf,
  type Kept,
  leave,
  quietTimeout,
  record,
} from "@reporthook/core/store";
import { errorOf } from "./connection.ts";
import { isFailure, type LaneState, type Recorded, type RecordResult } from "./protocol.ts";
import { changesOf } from "./row.ts";
import { kindOf } from "./tally.ts";

/** What a consumer needs of its inbox. */
export interface Source {
  /** Resolves to whether it was recorded; `kept` may be handed out again by then. */
  record(recorded: Recorded, kept: Kept): Promise<RecordResult>;
  /** Has the lanes' state told to the thread. */
  tell(): void;
}

const recordAgainMs = 1_000;

/** One receiver's work on one stage: runs what the thread hands out, and has recorded what became of it. */
export class LaneConsumer implements Consumer {
  readonly lane: number;
  readonly receiver: string;
  readonly stage: Stage;
  readonly #source: Source;
  readonly #work: Work;
  readonly #policy: Policy;
  readonly #running = new Map<Promise<void>, () => void>();
  #controller = new AbortController();
  #places: number;
  #stopped = false;
  #aborted = false;
  #due: { readonly at: number; readonly timer: unknown } | null = null;

  constructor(lane: number, stage: Stage, source: Source, work: Work, policy: Policy) {
    this.lane = lane;
    this.stage = stage;
    this.receiver = policy.receiver;
    this.#source = source;
    this.#work = work;
    this.#policy = policy;
    this.#places = policy.concurrency;
    source.tell();
  }

  get running(): number {
    return this.#running.size;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** How it stands, to be told once: places are told as they become free. */
  takeState(): LaneState {
    const { lane, receiver, stage } = this;
    const places = this.#places;
    this.#places = 0;
    return { lane, receiver, stage, places, now: this.#policy.clock.now() };
  }

  /** A new thread knows nothing of the places that were told to the one before. */
  beginAnew(): void {
    this.#places = this.#policy.concurrency - this.#running.size;
    this.#source.tell();
  }

  async stop(): Promise<void> {
    if (!this.#stopped) {
      this.#stopped = true;
      this.#sleep();
      this.#source.tell();
    }
    await Promise.all(this.#running.keys());
  }

  async abort(): Promise<void> {
    const stopping = this.stop();
    this.#aborted = true;
    this.#controller.abort(new Error("The receiver is closing"));
    for (const giveBack of this.#running.values()) giveBack();
    await stopping;
  }

  /** Works on one that was leased. */
  hand(seq: number, kept: Kept): void {
    if (this.#stopped) void this.#record(seq, kept, jobOf(kept), stopped, this.#now());
    else this.#run(seq, kept);
  }

  /** The next one comes due then, or none that is known of. */
  due(at: number | null): void {
    if (this.#due?.at === at) return;
    this.#sleep();
    if (at === null || this.#stopped) return;
    const wake = (): void => {
      this.#due = null;
      this.#source.tell();
    };
    this.#due = { at, timer: quietTimeout(this.#policy.clock, wake, at - this.#now()) };
  }

  /** Another has taken the leases: what comes of the work is dropped. */
  lose(reason: Error): void {
    this.#controller.abort(reason);
    this.#controller = new AbortController();
  }

  /** One was parked, because work on it ended the process too often. */
  poisoned(kept: Kept): void {
    const { code = "poison", message = "" } = kept.reason ?? {};
    this.#policy.onRecorded?.(jobOf({ ...kept, stage: this.stage }), leave("dead", code, message));
  }

  /** The inbox fails at handing out. */
  failed(error: unknown): void {
    this.#policy.onError(error);
  }

  #run(seq: number, kept: Kept): void {
    const startedAt = this.#now();
    const job = jobOf(kept);
    let giveBack = (): void => {};
    const outcome = new Promise<Outcome>((resolve) => {
      giveBack = () => resolve(stopped);
      // In a turn of its own, so that answers to what was just stored are on their way first.
      setImmediate(() => void this.#attempt(job).then(resolve));
    });
    const ended: Promise<void> = outcome.then(async (outcome) => {
      if (!this.#stopped) this.#places++;
      const recorded = await this.#record(seq, kept, job, outcome, startedAt);
      this.#running.delete(ended);
      if (recorded) this.#policy.onRecorded?.(job, outcome);
    });
    this.#running.set(ended, giveBack);
  }

  async #attempt(job: Job): Promise<Outcome> {
    const { signal } = this.#controller;
    try {
      return await this.#work(job, signal);
    } catch (error) {
      if (!signal.aborted) this.#policy.onError(error);
      return again(1_000, describe(error), { counts: true });
    }
  }

  /** Goes on until it is recorded or the lease is lost; resolves to whether it was recorded. */
  async #record(
    seq: number,
    kept: Kept,
    { stage }: Job,
    outcome: Outcome,
    startedAt: number,
  ): Promise<boolean> {
    const now = this.#now();
    const kindBefore = kindOf(kept);
    record(kept, outcome, startedAt, now);
    const recorded: Recorded = {
      ...{ seq, stage, kindBefore, kindAfter: kindOf(kept), receiver: this.receiver },
      ...{ dropBody: kept.state === "rejected", changes: changesOf(kept, now) },
    };
    for (;;) {
      try {
        const result = await this.#source.record(recorded, kept);
        if (typeof result === "boolean") return result;
        if (isFailure(result)) this.#policy.onError(errorOf(result));
      } catch (error) {
        // The thread has ended, and with it the lease.
        if (!this.#aborted) this.#policy.onError(error);
        return false;
      }
      if (this.#aborted) return false;
      await new Promise<void>((resolve) => setTimeout(resolve, recordAgainMs).unref());
    }
  }

  #now(): number {
    return this.#policy.clock.now();
  }

  #sleep(): void {
    if (this.#due !== null) this.#policy.clock.clearTimeout(this.#due.timer);
    this.#due = null;
  }
}

const stopped: Outcome = again(0, "stopped", { counts: false });
