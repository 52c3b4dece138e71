import { rollBack, type Statement } from "../database/driver.ts";
import type { FileGuard } from "../database/file-guard.ts";
import type { ReceiverCounts } from "../protocol/counts.ts";
import type { Leases } from "./claim/leases.ts";
import type { Deliveries, Tables } from "./deliveries.ts";

/** The parts of the writer that mirror the file in memory. */
export interface Followers {
  readonly tables: Tables;
  readonly deliveries: Deliveries;
  readonly leases: Leases;
}

/** The only place that begins and ends transactions: memory stays consistent with the file. */
export class Transactions {
  readonly #file: FileGuard;
  readonly #followers: Followers;
  /** Called when other processes have changed the file. */
  readonly #onForeign: () => void;
  readonly #version: Statement;
  #seenVersion: number;
  #countsChanged = false;

  constructor(followers: Followers, file: FileGuard, onForeign: () => void) {
    this.#followers = followers;
    this.#file = file;
    this.#onForeign = onForeign;
    this.#version = followers.tables.database.prepare("PRAGMA data_version");
    this.#seenVersion = this.#currentVersion();
  }

  /** Whether other processes have changed the file since the last transaction. */
  get isBehind(): boolean {
    return this.#currentVersion() !== this.#seenVersion;
  }

  get counts(): ReceiverCounts {
    const { receivers, counters } = this.#followers.tables;
    return new Map([...counters.counts].map(([id, counts]) => [receivers.nameOf(id), counts]));
  }

  /** The counts, if they have changed since the last call. */
  takeCounts(): ReceiverCounts | null {
    const counts = this.#countsChanged ? this.counts : null;
    this.#countsChanged = false;
    return counts;
  }

  /** Runs a step in a transaction; if it throws, nothing has changed. */
  run<T>(step: () => T): T {
    const { tables, leases, deliveries } = this.#followers;
    const { database, window, counters } = tables;
    const leasesBefore = leases.state;
    database.exec("BEGIN IMMEDIATE");
    window.begin();
    let isCommitted = false;
    try {
      if (this.#catchUp()) window.begin();
      const result = step();
      window.write();
      if (counters.write()) this.#countsChanged = true;
      this.#file.check();
      database.exec("COMMIT");
      isCommitted = true;
      this.#file.check();
      return result;
    } catch (error) {
      this.#rollBack();
      // If that file comes back, its leases belong to a dead worker.
      leases.state = isCommitted ? { workerId: null, held: 0 } : leasesBefore;
      if (!isCommitted) window.rollBack();
      deliveries.rollBack();
      throw error;
    }
  }

  #rollBack(): void {
    const { database } = this.#followers.tables;
    rollBack(database);
    try {
      this.#reload();
      this.#file.save(database);
    } catch {
      // The file can't be read either: the next transaction reads it first or fails.
      this.#seenVersion = Number.NaN;
    }
  }

  /** Reads the changes of other processes; returns whether there were any. */
  #catchUp(): boolean {
    const version = this.#currentVersion();
    if (version === this.#seenVersion) return false;
    this.#reload();
    this.#followers.tables.window.catchUp();
    this.#seenVersion = version;
    this.#onForeign();
    return true;
  }

  #reload(): void {
    const { tables, deliveries } = this.#followers;
    // First, so that uncommitted data is dropped even if nothing can be read.
    tables.counters.reload();
    tables.receivers.reload();
    deliveries.renumber();
    this.#countsChanged = true;
  }

  #currentVersion(): number {
    return Number(this.#version.get()?.["data_version"]);
  }
}
