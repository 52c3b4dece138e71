import { ReporthookError } from "@reporthook/core";
import type { Database, Statement } from "../database/driver.ts";
import type { OpenFile } from "../database/file-guard.ts";
import type {
  AddResult,
  Alike,
  Call,
  CallResult,
  Failure,
  HandedOut,
  Numbers,
  Recorded,
  RecordResult,
  Reply,
  Request,
  ThreadOptions,
} from "../protocol/protocol.ts";
import { queues, waitingIn } from "../protocol/queues.ts";
import { keptAsIn } from "../protocol/row.ts";
import { Shelf } from "./admin/admin.ts";
import { answer } from "./answer.ts";
import { HandOut } from "./claim/claimer.ts";
import { Leases } from "./claim/leases.ts";
import { Queue } from "./claim/queue.ts";
import { takeBack } from "./claim/take-back.ts";
import { Tally } from "./counters.ts";
import { DedupeWindow } from "./dedupe/window.ts";
import { Deliveries, type Files } from "./deliveries.ts";
import { failureOf, failureOfAll } from "./errors.ts";
import { Receivers } from "./receiver-ids.ts";

/** Runs a step as it is, or in a transaction of its own that fails alone. */
type Runner = <T>(step: () => T) => T | Failure;

type Results = Pick<Reply, "adds" | "records" | "calls">;

const nothingHanded: HandedOut = { handed: [], owner: null, due: [], poisoned: [], lost: false };

/** The one writer of this process: everything that was asked for since the last commit goes into the next. */
export class Engine {
  readonly #database: Database;
  readonly #file: OpenFile;
  readonly #path: string;
  readonly #files: Files;
  readonly #deliveries: Deliveries;
  readonly #leases: Leases;
  readonly #handOut: HandOut;
  readonly #shelf: Shelf;
  readonly #version: Statement;
  #seenVersion: number;
  #failing = false;
  #numbersTold = true;

  readonly #monotonic: () => number;

  /** `monotonic` gives milliseconds of real time, by which leases last. */
  constructor(
    database: Database,
    file: OpenFile,
    { path, retention }: Pick<ThreadOptions, "path" | "retention">,
    monotonic: () => number = () => performance.now(),
  ) {
    this.#monotonic = monotonic;
    this.#database = database;
    this.#file = file;
    this.#path = path;
    this.#version = database.prepare("PRAGMA data_version");
    this.#seenVersion = this.#currentVersion();
    const receivers = new Receivers(database);
    const tally = new Tally(database);
    this.#files = { database, receivers, tally, window: new DedupeWindow(database) };
    this.#deliveries = new Deliveries(this.#files);
    this.#leases = new Leases(database);
    this.#handOut = new HandOut(new Queue(database), this.#leases, receivers, monotonic);
    this.#shelf = new Shelf(this.#files, this.#deliveries, retention);
  }

  get numbers(): Numbers {
    const { receivers, tally } = this.#files;
    return new Map([...tally.numbers].map(([number, of]) => [receivers.nameOf(number), of]));
  }

  /**
   * Does what is asked for, in one transaction; if that fails one by one, so that nobody fails with another. When nothing
   * is asked for, it looks after what other processes have left.
   */
  turn(requests: readonly Request[]): Reply {
    for (const { lanes } of requests) this.#handOut.lanes.enter(lanes);
    this.#handOut.begin();
    let results: Results;
    let handedOut = nothingHanded;
    let error: Failure | null = null;
    try {
      [results, handedOut] = this.#transaction(() => {
        // That nothing was asked for does not mean that it could be done again.
        this.#probe();
        const lost = !this.#leases.beat(this.#monotonic());
        const performed = this.#perform(requests, (step) => step(), false);
        const poisoned = requests.length === 0 ? this.#takeBack() : [];
        const handed = this.#handOut.finish();
        const { owner } = this.#leases;
        const due = this.#handOut.lanes.due();
        return [performed, { handed, owner, due, poisoned, lost }];
      });
      this.#failing = false;
      this.#handOut.commit();
    } catch (thrown) {
      if (!this.#failing) error = failureOf(thrown, this.#path);
      this.#failing = true;
      this.#handOut.rollBack();
      let ofAll = failureOfAll(thrown, this.#path);
      const alone: Runner = (step) => {
        if (ofAll !== null) return ofAll;
        try {
          return this.#transaction(step);
        } catch (thrown) {
          ofAll = failureOfAll(thrown, this.#path);
          return failureOf(thrown, this.#path);
        }
      };
      results = this.#perform(requests, alone, true);
    }
    const numbers = this.#numbersTold ? null : this.numbers;
    this.#numbersTold = true;
    const { adds, records, calls } = results;
    const { handed, owner, due, poisoned, lost } = handedOut;
    const asOf = requests.at(-1)?.sentAt ?? null;
    return { adds, records, calls, handed, owner, due, poisoned, lost, numbers, error, asOf };
  }

  /** Whether a turn is due that nobody asked for: another process changed the file or died, a beat, a failure. */
  get restless(): boolean {
    const now = this.#monotonic();
    try {
      return (
        this.#failing ||
        this.#leases.due(now) ||
        this.#currentVersion() !== this.#seenVersion ||
        (this.#handOut.lanes.size > 0 && this.#leases.dead(now).length > 0)
      );
    } catch {
      // The turn will meet what is wrong, and tell.
      return true;
    }
  }

  /** Gives back what is leased, and lets go of the file. */
  close(): void {
    try {
      const { owner } = this.#leases;
      if (owner === null) return;
      this.#transaction(() => {
        this.#shelf.giveBack(owner, (receiver) => this.#handOut.lanes.nowOf(receiver));
        this.#leases.end(owner);
      });
    } finally {
      this.#database.close();
    }
  }

  #transaction<T>(run: () => T): T {
    const { tally, window } = this.#files;
    const leases = this.#leases.state;
    this.#database.exec("BEGIN IMMEDIATE");
    window.begin();
    let isCommitted = false;
    try {
      if (this.#catchUp()) window.begin();
      const result = run();
      window.write();
      if (tally.flush()) this.#numbersTold = false;
      this.#file.check();
      this.#database.exec("COMMIT");
      isCommitted = true;
      this.#file.check();
      return result;
    } catch (error) {
      this.#rollBack();
      // If that file comes back, its leases are of one that is dead.
      this.#leases.state = isCommitted ? { owner: null, held: 0 } : leases;
      if (!isCommitted) window.rollBack();
      this.#deliveries.rollBack();
      throw error;
    }
  }

  #rollBack(): void {
    try {
      this.#database.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself, or it was committed into a file that nobody will find.
    }
    try {
      this.#reload();
      this.#file.save(this.#database);
    } catch {
      // The file can't be read either: what is asked for next reads it first, or fails.
      this.#seenVersion = Number.NaN;
    }
  }

  /** Takes in what other processes have written; returns whether they have. */
  #catchUp(): boolean {
    const version = this.#currentVersion();
    if (version === this.#seenVersion) return false;
    this.#reload();
    this.#files.window.catchUp();
    this.#seenVersion = version;
    this.#handOut.lanes.disturb();
    return true;
  }

  #reload(): void {
    // First, so that what is not committed is forgotten even if nothing can be read.
    this.#files.tally.reload();
    this.#files.receivers.reload();
    this.#deliveries.renumber();
    this.#numbersTold = false;
  }

  #currentVersion(): number {
    return Number(this.#version.get()?.["data_version"]);
  }

  #perform(requests: readonly Request[], run: Runner, isAlone: boolean): Results {
    const adds: AddResult[] = [];
    const records: RecordResult[] = [];
    const calls: CallResult[] = [];
    for (const request of requests) {
      let from = 0;
      for (const alike of request.adds) {
        for (const index of alike.ids.keys()) {
          const keyFrom = from + (alike.bodyBytes[index] ?? 0);
          const to = keyFrom + (alike.keyBytes[index] ?? 0);
          const body = request.bytes.subarray(from, keyFrom);
          const key = keyFrom === to ? null : request.bytes.subarray(keyFrom, to);
          from = to;
          adds.push(
            run(() => {
              const result = this.#add(alike, index, body, key);
              if (isAlone) this.#deliveries.write();
              return result;
            }),
          );
        }
      }
      this.#deliveries.write();
      for (const recorded of request.records) records.push(run(() => this.#record(recorded)));
      for (const call of request.calls) calls.push(run(() => this.#answer(call)));
    }
    return { adds, records, calls };
  }

  #add(alike: Alike, index: number, body: Uint8Array, key: Uint8Array | null): AddResult {
    const { receiver, changes } = alike;
    const [, queue, rank] = changes ?? [null, queues.verify.first, alike.receivedAt[index]];
    const waiting = waitingIn(queue, rank);
    // What begins elsewhere than as received has its place written over the first one.
    const taking = changes === null ? this.#handOut.taking(receiver, waiting) : null;
    const result = this.#deliveries.add(alike, index, body, key, taking?.owner ?? null);
    const seq = typeof result === "number" ? result : "seq" in result ? result.seq : null;
    if (seq !== null) this.#handOut.arrived(seq, receiver, waiting, taking, body.byteLength);
    return result;
  }

  #record(recorded: Recorded): boolean {
    const { owner } = this.#leases;
    const [seq, , leasedTo, receiver, , , , changes] = recorded;
    const [, queue, rank] = changes;
    const waiting = waitingIn(queue, rank);
    const taking = this.#handOut.taking(receiver, waiting);
    const leaseTo = taking === null ? null : taking.lane.stage;
    // This process may have leased it again since.
    if (owner === null || leasedTo !== owner) return false;
    if (!this.#deliveries.record(recorded, leaseTo)) return false;
    this.#leases.held--;
    this.#handOut.arrived(seq, receiver, waiting, taking, 0);
    this.#shelf.bound(keptAsIn(changes));
    return true;
  }

  #answer(call: Call): CallResult {
    try {
      return { value: answer(call, this.#shelf, this.#handOut, () => this.#probe()) };
    } catch (error) {
      // What was asked for wrongly must not undo what others asked for.
      if (error instanceof ReporthookError) return failureOf(error, this.#path);
      throw error;
    }
  }

  /** After a failure, whether something can be written again. */
  #probe(): void {
    if (this.#failing) this.#leases.probe();
  }

  #takeBack(): HandedOut["poisoned"] {
    const { receivers } = this.#files;
    const [handOut, leases, shelf] = [this.#handOut, this.#leases, this.#shelf];
    return takeBack({ handOut, leases, shelf, receivers }, this.#monotonic());
  }
}
