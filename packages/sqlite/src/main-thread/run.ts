import { clearTimeout, setTimeout } from "node:timers";
import type {
  ConsumeOptions,
  Job,
  Lease,
  Outcome,
  Processor,
  Stage,
  StopSignal,
} from "@reporthook/core";
import {
  applyOutcome,
  cutOff,
  describe,
  type InFlightItem,
  jobOf,
  type Notices,
  retryIn,
  type ShownChanges,
  tellRecorded,
} from "@reporthook/core/store";
import { kindOf } from "../protocol/counts.ts";
import type { Completion } from "../protocol/protocol.ts";
import { changesOf } from "../protocol/row.ts";
import type { Leased } from "./thread-connection.ts";

/** Milliseconds until a completion that could not be recorded is sent again. */
const retryMs = 1_000;
/** How long a verdict waits for the result of handling, in milliseconds of real time: a crash until then loses the verdict. */
const momentMs = 20;

/** The part of the inbox that consumers need. */
export interface ConsumerSource {
  readonly shown: ShownChanges;
  readonly notices: Notices;
  /** Has the next message look for the states of a receiver's consumers: also when one stage takes over work of the other. */
  noteChange(receiver: string): void;
  /** The same, with a message now. */
  tell(receiver: string): void;
}

/** The consumer that a run belongs to. */
export interface RunHost {
  readonly source: ConsumerSource;
  readonly processor: Processor;
  readonly options: ConsumeOptions;
  /** Aborted when the work is to end, and when the leases are lost. */
  readonly signal: StopSignal;
  readonly stopped: boolean;
  /** Whether to wait for no retries: the leases are requeued once the file can be written again. */
  readonly isAborted: boolean;
  /** The work of the stage has ended after `ms` milliseconds: another delivery may begin. */
  worked(ms: number): void;
  /** The outcome is recorded, or the lease is lost. */
  ended(run: Run): void;
}

/** The end of one attempt. */
interface Settled {
  readonly job: Job;
  readonly outcome: Outcome;
}

/**
 * The work on one leased delivery, until its outcome is recorded. For a delivery that is handled right after its verdict, verdict
 * and result are recorded together, unless handling takes longer than a moment.
 */
export class Run implements InFlightItem, Lease {
  place = -1;
  readonly signal: StopSignal;
  readonly #host: RunHost;
  readonly #leased: Leased;
  readonly #began = performance.now();
  #leasedFor: Stage;
  #kindBefore: number;
  #startedAt: number;
  #endEarly: (() => void) | null = null;
  /** The verdict, as long as it is not on its way to the file. */
  #verdict: Settled | null = null;
  #recordingVerdict: Promise<void> | null = null;
  #moment: ReturnType<typeof setTimeout> | undefined;

  constructor(host: RunHost, leased: Leased) {
    this.#host = host;
    this.#leased = leased;
    this.signal = host.signal;
    this.#leasedFor = leased.stored.stage;
    this.#kindBefore = kindOf(leased.stored);
    this.#startedAt = this.#now();
  }

  start(): void {
    const job = jobOf(this.#leased.stored);
    this.#attempt(job, this.#work(job), (settled) => {
      this.#host.worked(performance.now() - this.#began);
      const handling = settled.outcome.to === "verified" ? this.#handleAtOnce(settled) : false;
      if (!handling) this.#record([settled]);
    });
  }

  /** Requeues the delivery as it is. */
  requeue(): void {
    this.#record([]);
  }

  /** Ends the running attempt as one that does not count. */
  endEarly(): void {
    this.#endEarly?.();
  }

  /** Records the verdict alone: handling takes long, and a crash must not lose it. */
  #recordVerdict(settled: Settled): void {
    this.#verdict = null;
    const completion = this.#completion(true);
    this.#recordingVerdict = new Promise((then) =>
      this.#send(completion, [settled], (isRecorded) => {
        if (isRecorded) {
          this.#leasedFor = "handle";
          this.#kindBefore = completion.kindAfter;
        } else {
          // It is said again, with the result.
          this.#verdict = settled;
        }
        then();
      }),
    );
  }

  /** Runs the stage if the lease is still held: while this process was blocked, another one may have taken it. */
  async #work(job: Job): Promise<Outcome> {
    const isHeld = this.isHeld();
    if (!(isHeld === true || (await isHeld)) || this.signal.aborted) return cutOff;
    return this.#host.processor(job, this);
  }

  isHeld(): boolean | Promise<boolean> {
    return this.#leased.connection.holdsLeases();
  }

  #handleAtOnce(verdict: Settled): boolean {
    const { options, stopped } = this.#host;
    // If the lease is uncertain, the verdict is recorded or refused first; also if work on it may have ended a process.
    const isSure =
      this.#leased.claimed.isFirstStart && this.isHeld() === true && !this.signal.aborted;
    if (stopped || !isSure || options.handleAtOnce === undefined) return false;
    const job = jobOf(this.#leased.stored);
    const startedAt = this.#now();
    const handling = options.handleAtOnce(job, this);
    if (handling === null) return false;
    this.#verdict = verdict;
    this.#startedAt = startedAt;
    this.#moment = setTimeout(() => this.#recordVerdict(verdict), momentMs).unref();
    this.#attempt(job, handling, (settled) => void this.#recordResult(settled));
    return true;
  }

  async #recordResult(result: Settled): Promise<void> {
    clearTimeout(this.#moment);
    if (this.#recordingVerdict !== null) await this.#recordingVerdict;
    this.#record(this.#verdict === null ? [result] : [this.#verdict, result]);
  }

  /** Waits for an attempt, and brings the delivery up to date with its outcome. */
  #attempt(job: Job, work: Promise<Outcome>, then: (settled: Settled) => void): void {
    const end = (outcome: Outcome): void => {
      if (this.#endEarly !== endEarly) return;
      this.#endEarly = null;
      const { stored } = this.#leased;
      const { wallOffset } = this.#host.options.clock;
      applyOutcome(stored, outcome, this.#startedAt, { now: this.#now(), wallOffset });
      stored.changedAt = this.#host.source.shown.after(stored.changedAt);
      then({ job, outcome });
    };
    const endEarly = (): void => end(cutOff);
    this.#endEarly = endEarly;
    work.then(end, (error: unknown) => {
      if (!this.signal.aborted) this.#host.options.onError(error);
      end(retryIn(1_000, describe(error), { countsAsAttempt: true }));
    });
  }

  #record(settled: readonly Settled[]): void {
    this.#verdict = null;
    this.#send(this.#completion(false), settled, () => this.#host.ended(this));
  }

  /** Sends a completion until it is recorded, or the lease is lost; then tells which. */
  #send(
    completion: Completion,
    settled: readonly Settled[],
    then: (isRecorded: boolean) => void,
  ): void {
    const host = this.#host;
    const { connection } = this.#leased;
    host.source.noteChange(completion.receiver);
    // After the verdict the result is recorded, too: it says both.
    if (host.isAborted && completion.keepsLease) {
      then(false);
      return;
    }
    const end = (isRecorded: boolean): void => {
      for (const { job, outcome } of isRecorded ? settled : []) {
        tellRecorded(host.options, job, outcome);
      }
      then(isRecorded);
    };
    const retry = (error: unknown): void => {
      const { isAborted } = host;
      if (!connection.isOver || !isAborted) host.options.onError(error);
      if (connection.isOver || isAborted) end(false);
      if (connection.isOver) return;
      // Retries continue when nobody waits any more.
      const again = (): void =>
        isAborted ? this.#send(completion, [], () => {}) : this.#send(completion, settled, then);
      setTimeout(again, retryMs).unref();
    };
    connection.complete(completion, { asked: this.#leased, resolve: end, reject: retry });
  }

  #completion(keepsLease: boolean): Completion {
    const { claimed, workerId, stored } = this.#leased;
    return {
      seq: claimed.seq,
      stage: this.#leasedFor,
      leasedTo: workerId,
      receiver: this.#host.options.receiver,
      kindBefore: this.#kindBefore,
      kindAfter: kindOf(stored),
      keepsLease,
      changes: changesOf(stored, this.#now()),
    };
  }

  #now(): number {
    return this.#host.options.clock.now();
  }
}
