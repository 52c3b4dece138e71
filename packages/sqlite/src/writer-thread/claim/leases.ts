import { randomInt } from "node:crypto";
import type { Database, Statement } from "../../database/driver.ts";
import { heartbeatMs, leaseLostAfterMs } from "../../protocol/protocol.ts";

/** The part of {@link Leases} that a failed transaction restores. */
export interface LeaseState {
  readonly workerId: number | null;
  readonly held: number;
}

/**
 * The workers of this and of other processes. A worker sends a heartbeat while it holds leases; others watch it by their
 * monotonic clocks, so that a wrong or changed system clock never moves a lease.
 */
export class Leases {
  readonly #monotonic: () => number;
  readonly #insert: Statement;
  readonly #heartbeat: Statement;
  readonly #all: Statement;
  readonly #delete: Statement;
  readonly #watched = new Map<number, { readonly beat: number; readonly since: number }>();
  #watchedAt = Number.NEGATIVE_INFINITY;
  #workerId: number | null = null;
  #heartbeatAt = Number.NEGATIVE_INFINITY;
  /** The number of leases of this worker. */
  held = 0;

  /** `monotonic` gives milliseconds of real time. */
  constructor(database: Database, monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#insert = database.prepare("INSERT INTO owner (number, beat) VALUES (?, 0)");
    this.#heartbeat = database.prepare("UPDATE owner SET beat = beat + 1 WHERE number = ?");
    this.#all = database.prepare("SELECT number, beat FROM owner");
    this.#delete = database.prepare("DELETE FROM owner WHERE number = ?");
  }

  /** The id of this process's worker; null before its first lease. */
  get workerId(): number | null {
    return this.#workerId;
  }

  get isHeartbeatDue(): boolean {
    return this.held > 0 && this.#monotonic() - this.#heartbeatAt >= heartbeatMs;
  }

  /** Sends a heartbeat if one is due; forgets the leases if another worker has taken them. */
  heartbeat(): void {
    const now = this.#monotonic();
    if (this.#workerId === null || now - this.#heartbeatAt < heartbeatMs / 2) return;
    this.#heartbeatAt = now;
    if (Number(this.#heartbeat.run(this.#workerId).changes) > 0) return;
    this.#workerId = null;
    this.held = 0;
  }

  /** Returns the id of this process's worker, which is registered in the file from its first lease on. */
  register(): number {
    if (this.#workerId === null) {
      const id = randomInt(1, 2 ** 47);
      this.#insert.run(id);
      this.#workerId = id;
      this.#heartbeatAt = this.#monotonic();
    }
    return this.#workerId;
  }

  /** The other workers without a heartbeat for too long, while this process was able to watch. */
  deadWorkers(): number[] {
    const now = this.#monotonic();
    const rows = this.#all.all();
    // While this process was blocked or waited for the file, others may have been, too.
    if (now - this.#watchedAt > leaseLostAfterMs / 2) this.#watched.clear();
    this.#watchedAt = now;
    const present = new Set(rows.map(({ number }) => Number(number)));
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    const dead: number[] = [];
    for (const row of rows) {
      const [id, beat] = [Number(row["number"]), Number(row["beat"])];
      if (id === this.#workerId) continue;
      const watched = this.#watched.get(id);
      if (watched?.beat !== beat) this.#watched.set(id, { beat, since: now });
      else if (now - watched.since >= leaseLostAfterMs) dead.push(id);
    }
    return dead;
  }

  /** Removes a worker without leases from the file. */
  unregister(workerId: number): void {
    this.#delete.run(workerId);
    this.#watched.delete(workerId);
    if (workerId === this.#workerId) this.state = { workerId: null, held: 0 };
  }

  get state(): LeaseState {
    return { workerId: this.#workerId, held: this.held };
  }

  set state({ workerId, held }: LeaseState) {
    this.#workerId = workerId;
    this.held = held;
    this.#heartbeatAt = Number.NEGATIVE_INFINITY;
  }

  /** Checks that the file can be written. */
  probe(): void {
    this.#insert.run(0);
    this.#delete.run(0);
  }
}
