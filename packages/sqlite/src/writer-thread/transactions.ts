import { rollBack } from "../database/driver.ts";
import type { FileGuard } from "../database/file-guard.ts";
import type { Claimer } from "./claim/claimer.ts";
import { type Leases, noLeases } from "./claim/leases.ts";
import type { Deliveries } from "./deliveries.ts";

/** The only place that begins and ends transactions: memory stays consistent with the file. */
export class Transactions {
  readonly #file: FileGuard;
  readonly #deliveries: Deliveries;
  readonly #leases: Leases;
  readonly #claimer: Claimer;
  #seenVersion: number;

  constructor(deliveries: Deliveries, leases: Leases, file: FileGuard, claimer: Claimer) {
    this.#deliveries = deliveries;
    this.#leases = leases;
    this.#file = file;
    this.#claimer = claimer;
    this.#seenVersion = this.#currentVersion();
    // Again: others may have committed since it was read.
    this.#deliveries.receivers.reload();
  }

  /** Whether other processes have changed the file since the last transaction. */
  get isBehind(): boolean {
    return this.#currentVersion() !== this.#seenVersion;
  }

  /** Runs a step in a transaction; if it throws, nothing has changed. */
  run<T>(step: () => T): T {
    const { database, window, receivers } = this.#deliveries;
    const leases = this.#leases;
    const leasesBefore = leases.state;
    if (this.#file.damage !== null) throw this.#file.damage;
    database.exec("BEGIN IMMEDIATE");
    window.begin();
    let isCommitted = false;
    try {
      this.#file.begin();
      this.#catchUp();
      const result = step();
      const hasWritten = receivers.write();
      this.#file.prepareCommit();
      database.exec("COMMIT");
      isCommitted = true;
      this.#file.checkCommitted(hasWritten);
      return result;
    } catch (thrown) {
      try {
        throw this.#file.explained(thrown);
      } finally {
        this.#rollBack();
        // If that file comes back, its leases belong to a dead worker.
        leases.state = isCommitted ? noLeases : leasesBefore;
        if (!isCommitted) window.rollBack();
        this.#deliveries.rollBack();
      }
    }
  }

  #rollBack(): void {
    const { database } = this.#deliveries;
    rollBack(database);
    this.#file.rolledBack();
    try {
      this.#deliveries.receivers.reload();
      this.#file.save(database);
    } catch {
      // The file can't be read either: the next transaction reads it first or fails.
      this.#seenVersion = Number.NaN;
    }
  }

  /** Reads the changes of other processes, if there are any. */
  #catchUp(): void {
    const version = this.#currentVersion();
    if (version === this.#seenVersion) return;
    this.#deliveries.receivers.reload();
    this.#deliveries.window.catchUp();
    this.#seenVersion = version;
    this.#claimer.invalidate();
  }

  #currentVersion(): number {
    const { statement } = this.#deliveries;
    return Number(statement("PRAGMA data_version").get()?.["data_version"]);
  }
}
