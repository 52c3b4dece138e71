import { ReporthookError } from "@reporthook/core";
import type { Database } from "../database/driver.ts";
import type { FileGuard } from "../database/file-guard.ts";
import { probe } from "../database/schema.ts";
import type { ChangedTallies } from "../protocol/counts.ts";
import { eachAddition, type OwnParts } from "../protocol/message.ts";
import type { Operations, ThreadCall } from "../protocol/operations.ts";
import type { Queued } from "../protocol/position.ts";
import {
  type Completion,
  type Message,
  type Origin,
  type Reply,
  type StoredResult,
  seqOf,
  type ThreadFailure,
  type ThreadOptions,
} from "../protocol/protocol.ts";
import { queuedAfter, retentionClassAfter } from "../protocol/row.ts";
import { Bounds } from "./admin/bounds.ts";
import { Claimer } from "./claim/claimer.ts";
import { Leases } from "./claim/leases.ts";
import { nothingRescued, type Rescued, requeue, rescue } from "./claim/rescue.ts";
import { Deliveries } from "./deliveries.ts";
import { assertRoom, failureOf, failureOfAll } from "./failures.ts";
import { operationsOf } from "./operations.ts";
import { Transactions } from "./transactions.ts";

const newlyQueued: Queued = { stage: "verify", dueAt: null };

/** Runs a step as it is, or in a transaction that fails alone. */
type Runner = <T>(step: () => T) => T | ThreadFailure;

type Results = Pick<Reply, "adds" | "completions" | "calls">;

/** The part of a reply that one transaction makes. */
type Done = Pick<Reply, "claimed" | "workerId" | "due"> & { results: Results; rescued: Rescued };

/** The one writer of this process: all messages since the last commit go into the next one. */
export class Writer {
  readonly #database: Database;
  readonly #file: FileGuard;
  readonly #path: string;
  readonly #deliveries: Deliveries;
  readonly #leases: Leases;
  readonly #claimer: Claimer;
  readonly #bounds: Bounds;
  readonly #operations: Operations;
  readonly #transactions: Transactions;
  #failing = false;

  /** `monotonic` gives milliseconds of real time, by which leases last. */
  constructor(
    database: Database,
    file: FileGuard,
    { path, retention, migrate, pulse }: Omit<ThreadOptions, "driver">,
    monotonic: () => number = () => performance.now(),
  ) {
    this.#database = database;
    this.#file = file;
    this.#path = path;
    this.#deliveries = new Deliveries(database);
    this.#leases = new Leases(this.#deliveries, pulse, monotonic);
    this.#claimer = new Claimer(this.#deliveries, this.#leases);
    this.#bounds = new Bounds(this.#deliveries);
    const check = (): void => {
      if (this.#failing) database.exec(probe);
      // A tool writes nothing to find that out.
      else if (!migrate) assertRoom(path);
    };
    const given = migrate ? retention : null;
    this.#operations = operationsOf(this.#deliveries, this.#claimer, given, check);
    this.#transactions = new Transactions(this.#deliveries, this.#leases, file, this.#claimer);
  }

  /** The tallies that have changed since they were told; at first all. */
  takeTallies(): ChangedTallies {
    return this.#deliveries.receivers.takeTallies();
  }

  /**
   * Processes messages in one transaction; if that fails, in one for each, so that a failure stays its own. Without messages it
   * does upkeep for other processes.
   */
  commitBatch(messages: readonly Message[]): Reply {
    for (const { consumers } of messages) this.#claimer.update(consumers);
    if (messages.length > 0) this.#leases.hasSent();
    this.#claimer.begin();
    const { workerId, held } = this.#leases;
    let done: Done;
    let error: ThreadFailure | null = null;
    try {
      done = this.#transactions.run(() => this.#together(messages));
      this.#failing = false;
      this.#claimer.commit();
    } catch (thrown) {
      if (!this.#failing) error = failureOf(thrown, this.#path);
      this.#failing = true;
      this.#claimer.rollBack();
      const results = this.#perform(messages, this.#eachAlone(thrown));
      done = { results, rescued: nothingRescued, claimed: [], workerId: null, due: [] };
    }
    // Written out: V8 would make a new object shape for each that has properties after a spread.
    return {
      adds: done.results.adds,
      completions: done.results.completions,
      calls: done.results.calls,
      claimed: done.claimed,
      workerId: done.workerId,
      due: done.due,
      poisoned: done.rescued.poisoned,
      takeovers: done.rescued.takeovers,
      lost: held > 0 && this.#leases.workerId !== workerId,
      tallies: this.takeTallies(),
      error,
      asOf: messages.at(-1)?.sentAt ?? null,
    };
  }

  /** Whether upkeep is due: a heartbeat, a dead worker, a change of another process, a failure, damage. */
  get needsUpkeep(): boolean {
    try {
      this.#leases.look();
      this.#file.checkAll();
      return (
        this.#failing ||
        this.#leases.isHeartbeatDue ||
        this.#transactions.isBehind ||
        (this.#claimer.hasConsumers &&
          this.#leases.mayClaim &&
          this.#leases.deadWorkers().length > 0)
      );
    } catch {
      // The batch will fail, and report it.
      return true;
    }
  }

  /** Requeues leases, and closes the file, which is set aside if it is damaged: SQLite would delete its log. */
  close(): void {
    try {
      if (!this.#file.isSound() && this.#file.damage !== null) return;
      this.#transactions.run(() => requeue(this.#leases, this.#claimer, this.#deliveries));
    } finally {
      this.#database.close();
      this.#file.close();
    }
  }

  #together(messages: readonly Message[]): Done {
    // Without messages, success proves nothing: check by writing.
    if (this.#failing) this.#database.exec(probe);
    this.#leases.heartbeat();
    const results = this.#perform(messages, (step) => step());
    const rescued =
      messages.length > 0 ? nothingRescued : rescue(this.#leases, this.#claimer, this.#deliveries);
    const claimed = this.#claimer.finish();
    const { workerId } = this.#leases;
    return { results, rescued, claimed, workerId, due: this.#claimer.takeDue() };
  }

  /** Runs each step in a separate transaction, until a failure would meet all. */
  #eachAlone(thrown: unknown): Runner {
    let ofAll = failureOfAll(thrown, this.#path);
    return (step) => {
      if (ofAll !== null) return ofAll;
      try {
        return this.#transactions.run(() => {
          const result = step();
          this.#deliveries.write();
          return result;
        });
      } catch (thrown) {
        ofAll = failureOfAll(thrown, this.#path);
        return failureOf(thrown, this.#path);
      }
    };
  }

  #perform(messages: readonly Message[], run: Runner): Results {
    const adds: StoredResult[] = [];
    const completions: Reply["completions"][number][] = [];
    const calls: Reply["calls"][number][] = [];
    for (const message of messages) {
      eachAddition(message, (origin, own) => adds.push(run(() => this.#add(origin, own))));
      this.#deliveries.write();
      for (const one of message.completions) completions.push(run(() => this.#record(one)));
      for (const call of message.calls) calls.push(run(() => this.#answer(call)));
    }
    return { adds, completions, calls };
  }

  /** Carries out a call; returns its value, or its failure: a wrong request must not undo others. */
  #answer({ ask, given }: ThreadCall): Reply["calls"][number] {
    const operation: (...given: never) => unknown = this.#operations[ask];
    try {
      return { value: operation(...(given as never)) };
    } catch (error) {
      if (error instanceof ReporthookError) return failureOf(error, this.#path);
      throw error;
    }
  }

  #add(origin: Origin, own: OwnParts): StoredResult {
    const { receiver, changes } = origin;
    const queued = changes === null ? newlyQueued : queuedAfter(changes);
    // A delivery that does not begin as received has its position overwritten.
    // To be verified, the newest is always first.
    const consumer = changes === null ? this.#claimer.readyFor(receiver, "verify", true) : null;
    const workerId = consumer === null ? null : this.#leases.register();
    const result = this.#deliveries.add(origin, own, workerId);
    const seq = seqOf(result);
    if (seq === null) return result;
    if (consumer !== null) this.#claimer.give(consumer, seq, own.body.byteLength);
    else if (queued !== null) this.#claimer.noteWaiting(receiver, queued);
    return result;
  }

  #record(completion: Completion): boolean {
    const { seq, leasedTo, receiver, keepsLease, changes } = completion;
    // Its lease was lost, and this process may have it again under another worker's id.
    if (leasedTo !== this.#leases.workerId) return false;
    if (keepsLease) return this.#deliveries.record(completion, "handle");
    const queued = queuedAfter(changes);
    const isDue = queued !== null && queued.dueAt === null;
    const consumer = isDue ? this.#claimer.readyFor(receiver, queued.stage, false) : null;
    if (!this.#deliveries.record(completion, consumer?.state.stage ?? null)) return false;
    this.#leases.held--;
    if (consumer !== null) this.#claimer.give(consumer, seq, 0);
    else if (queued !== null) this.#claimer.noteWaiting(receiver, queued);
    this.#bounds.keep(seq, retentionClassAfter(changes));
    return true;
  }
}
