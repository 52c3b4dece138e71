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
  stopped,
} from "@reporthook/core/store";
import { kindOf } from "../protocol/kinds.ts";
import {
  isFailure,
  type LaneState,
  type Recorded,
  type RecordResult,
} from "../protocol/protocol.ts";
import { errorOf, type Leased } from "../protocol/results.ts";
import { changesOf } from "../protocol/row.ts";
import { Ahead } from "./prefetch.ts";

/** What a consumer needs of its inbox. */
export interface Source {
  /** Whether what was leased is still leased to this process. */
  owns(): boolean | Promise<boolean>;
  /** Resolves to whether it was recorded; `kept` may be handed out again by then. */
  record(recorded: Recorded, kept: Kept): Promise<RecordResult>;
  /** Has the lanes' state told to the thread. */
  tell(): void;
}

const recordAgainMs = 1_000;
/** More places are not asked for at a time. */
const mostAsked = 256;

/** One receiver's work on one stage: runs what the thread leases to it, and has recorded what becomes of it. */
export class LaneConsumer implements Consumer {
  readonly lane: number;
  readonly receiver: string;
  readonly stage: Stage;
  readonly #source: Source;
  readonly #work: Work;
  readonly #policy: Policy;
  /** Until it is recorded; with what gives it back. */
  readonly #running = new Map<Promise<void>, () => void>();
  readonly #ahead = new Ahead(() => this.#giveBackAhead());
  #controller = new AbortController();
  /** How many run that have not ended. */
  #working = 0;
  /** How many were asked for and did not come yet; negative when more came than were still wanted. */
  #asked = 0;
  #stopped = false;
  #leftOutAt: number | null = null;
  #aborted = false;
  #due: { readonly at: number; readonly timer: unknown } | null = null;

  constructor(lane: number, stage: Stage, source: Source, work: Work, policy: Policy) {
    this.lane = lane;
    this.stage = stage;
    this.receiver = policy.receiver;
    this.#source = source;
    this.#work = work;
    this.#policy = policy;
    source.tell();
  }

  get running(): number {
    return this.#running.size;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  /** How it stands. To be told: the places in it are asked for only once. */
  ask(): LaneState {
    const { lane, receiver, stage } = this;
    const places = this.#places;
    this.#asked += places;
    return { lane, receiver, stage, places, now: this.#now() };
  }

  /** How many more to ask for; less than none when what was asked for is not wanted any more. */
  get #places(): number {
    const { concurrency } = this.#policy;
    const ahead = this.#ahead.wanted(concurrency) - this.#ahead.length;
    const wanted = concurrency - this.#working + ahead;
    return Math.max(0, Math.min(wanted, mostAsked)) - this.#asked;
  }

  /** It is not told to the thread from now on. */
  leaveOut(): void {
    this.#leftOutAt ??= performance.now();
  }

  /** Whether nothing comes any more, for the thread has answered to lanes that were told then without it. */
  isOver(asOf: number | null): boolean {
    const isKnown = this.#leftOutAt !== null && asOf !== null && asOf >= this.#leftOutAt;
    return isKnown && this.#running.size === 0;
  }

  async stop(): Promise<void> {
    if (!this.#stopped) {
      this.#stopped = true;
      this.#sleep();
      this.#giveBackAhead();
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

  /** Works on one that was leased, as soon as there is room. */
  hand(leased: Leased, places: number): void {
    this.#asked -= places;
    this.#ahead.push(leased);
    if (this.#stopped) this.#giveBackAhead();
    else this.#begin();
    if (this.#asked <= 0 && this.#places > 0) this.#source.tell();
  }

  /** When the next one comes due; null when none waits. */
  due(at: number | null): void {
    if (this.#due?.at === at) return;
    this.#sleep();
    if (at === null || this.#stopped) return;
    if (at <= this.#now()) {
      this.#source.tell();
      return;
    }
    const wake = (): void => {
      this.#due = null;
      this.#source.tell();
    };
    this.#due = { at, timer: quietTimeout(this.#policy.clock, wake, at - this.#now()) };
  }

  /** The leases are gone: what comes of the work is dropped, and a new thread knows nothing of what was asked for. */
  lose(reason: Error, threadToo: boolean): void {
    this.#ahead.clear();
    this.#controller.abort(reason);
    this.#controller = new AbortController();
    if (threadToo) this.#asked = 0;
  }

  /** One was parked, because work on it ended the process too often. */
  poisoned(kept: Kept): void {
    const { code = "poison", message = "" } = kept.reason ?? {};
    // As it was before that was recorded.
    const before = { ...kept, stage: this.stage, attempts: kept.attempts - 1 };
    this.#policy.onRecorded?.(jobOf(before), leave("dead", code, message));
  }

  /** The inbox fails to hand out. */
  failed(error: unknown): void {
    this.#policy.onError(error);
  }

  #begin(): void {
    while (this.#working < this.#policy.concurrency) {
      const leased = this.#ahead.shift();
      if (leased === undefined) return;
      this.#run(leased);
    }
  }

  /** Gives back what has not begun, for others to work on. */
  #giveBackAhead(): void {
    for (const leased of this.#ahead.clear()) {
      const { kept } = leased;
      const recorded = this.#recorded(leased, kept.stage, kindOf(kept));
      const ended: Promise<void> = this.#put(recorded, kept).then(() => {
        this.#running.delete(ended);
      });
      this.#running.set(ended, () => {});
    }
  }

  #run(leased: Leased): void {
    const { kept } = leased;
    this.#working++;
    const startedAt = this.#now();
    const from = performance.now();
    const job = jobOf(kept);
    const { signal } = this.#controller;
    let giveBack = (): void => {};
    const outcome = new Promise<Outcome>((resolve) => {
      giveBack = () => resolve(stopped);
      // In a turn of its own, so that answers to what was just stored are on their way first.
      setImmediate(() => void this.#attempt(job, signal).then(resolve));
    });
    const ended: Promise<void> = outcome.then(async (outcome) => {
      this.#working--;
      this.#ahead.took(performance.now() - from);
      this.#begin();
      const kind = kindOf(kept);
      record(kept, outcome, startedAt, this.#now());
      const recorded = await this.#put(this.#recorded(leased, job.stage, kind), kept);
      this.#running.delete(ended);
      if (recorded) this.#policy.onRecorded?.(job, outcome);
    });
    this.#running.set(ended, giveBack);
  }

  async #attempt(job: Job, signal: AbortSignal): Promise<Outcome> {
    if (!(await this.#owns(signal))) return stopped;
    try {
      return await this.#work(job, signal);
    } catch (error) {
      if (!signal.aborted) this.#policy.onError(error);
      return again(1_000, describe(error), { counts: true });
    }
  }

  /** Another process may have taken it over, and be done with it, while this one stood still. */
  async #owns(signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#source.owns()) && !signal.aborted;
    } catch {
      // The thread has ended, and with it the lease.
      return false;
    }
  }

  #recorded({ seq, owner, kept }: Leased, stage: Stage, kindBefore: number): Recorded {
    const changes = changesOf(kept, this.#now());
    const isDropped = kept.body === null;
    return [seq, stage, owner, this.receiver, kindBefore, kindOf(kept), isDropped, changes];
  }

  /**
   * Goes on until it is recorded or the lease is lost; resolves to whether it was recorded. Who aborts does not wait for a
   * file that refuses, but the lease is given back as soon as it no longer does.
   */
  async #put(recorded: Recorded, kept: Kept): Promise<boolean> {
    for (;;) {
      try {
        const result = await this.#source.record(recorded, kept);
        if (!isFailure(result)) return result;
        this.#policy.onError(errorOf(result));
      } catch (error) {
        // The thread has ended, and with it the lease.
        if (!this.#aborted) this.#policy.onError(error);
        return false;
      }
      const later = new Promise<void>((resolve) => setTimeout(resolve, recordAgainMs).unref());
      if (this.#aborted) {
        void later.then(() => this.#put(recorded, kept));
        return false;
      }
      await later;
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
