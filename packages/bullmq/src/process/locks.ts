import type { Stage } from "@reporthook/core";
import type { ReceiverQueues } from "../queues/queues.ts";
import { type LockedJob, LockLost } from "./settle.ts";

/** A running job under its lock. */
export interface RunningJob {
  readonly held: LockedJob;
  /** The last time that this process held the lock, by the monotonic clock. */
  ownedAt: number;
  lost: boolean;
  /** Settles once it is settled, or lost. */
  readonly ended: Promise<unknown>;
  /** Ends it as work that was not done, for this reason. */
  cutOff(reason: Error): void;
}

/** The locks of a consumer's running jobs, extended while they run. The outcome of a job that lost its lock is dropped. */
export class Locks {
  /** The jobs whose locks are kept. */
  readonly running: Set<RunningJob> = new Set();
  readonly #stage: Stage;
  readonly #leaseMs: number;
  readonly #onLost: () => void;

  /** `leaseMs` is how long a lock holds, in milliseconds; `onLost` is called when another process has one. */
  constructor(stage: Stage, leaseMs: number, onLost: () => void) {
    this.#stage = stage;
    this.#leaseMs = leaseMs;
    this.#onLost = onLost;
  }

  /** Adds a job that was just locked: an earlier run of it in this process has lost its lock. */
  add(running: RunningJob): void {
    for (const other of this.running) {
      if (other.held.job.id === running.held.job.id) this.lose(other);
    }
    this.running.add(running);
  }

  /** Whether its lock is sure to be ours still. */
  isOwned({ lost, ownedAt }: RunningJob): boolean {
    return !lost && performance.now() - ownedAt < this.#leaseMs / 2;
  }

  /** Makes sure that a long job still has its lock. Rejects with {@link LockLost} if not. */
  async assertOwned(queues: ReceiverQueues, running: RunningJob): Promise<void> {
    if (this.isOwned(running)) return;
    await this.#extend(queues, [running]);
    if (running.lost) throw new LockLost();
  }

  /** Extends the locks of all running jobs. */
  async renew(queues: ReceiverQueues): Promise<void> {
    const all = [...this.running].filter(({ lost }) => !lost);
    if (all.length > 0) await this.#extend(queues, all);
  }

  async #extend(queues: ReceiverQueues, all: readonly RunningJob[]): Promise<void> {
    const asked = performance.now();
    const lost = await queues.of(this.#stage).backend.extendLocks(
      all.map(({ held }) => held.job.id as string),
      all.map(({ held }) => held.token),
      this.#leaseMs,
    );
    for (const running of all) {
      if (!lost.includes(running.held.job.id as string)) running.ownedAt = asked;
      else if (this.running.has(running)) this.lose(running);
    }
  }

  /** Ends the work on a job whose lock was lost. */
  lose(running: RunningJob): void {
    running.lost = true;
    this.#onLost();
    running.cutOff(new Error(leaseLost));
  }
}

const leaseLost =
  "Lease lost: no heartbeat of this process reached the server in time, and its deliveries are handed out again";
