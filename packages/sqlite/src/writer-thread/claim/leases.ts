import { randomInt } from "node:crypto";
import { hostname } from "node:os";
import type { Statements } from "../../database/driver.ts";
import { heartbeatMs, leaseLostAfterMs, type Takeover } from "../../protocol/protocol.ts";
import type { Deliveries } from "../deliveries.ts";

/** Milliseconds between two upkeeps of the thread, which looks for the main thread's pulse at each: twice for each count. */
export const upkeepMs: number = 500;
const looksUntilSilent = 4;
const looksUntilStandstill = 10;

/** The part of {@link Leases} that a failed transaction restores. */
export interface LeaseState {
  readonly workerId: number | null;
  readonly held: number;
  readonly isOffered: boolean;
}

/** The state of a worker that is not registered. */
export const noLeases: LeaseState = { workerId: null, held: 0, isOffered: false };

/** Another worker whose leases are free to be taken. */
export interface DeadWorker extends Omit<Takeover, "deliveries"> {
  readonly id: number;
}

/** The heartbeat of a worker whose main thread stands still. */
const offered = -1;

/**
 * The workers of this and of other processes. A worker sends a heartbeat while it holds leases; others watch it by their
 * monotonic clocks, so that a wrong or changed system clock never moves a lease. While its main thread stands still it offers
 * its leases, and takes up those that nobody has taken when the main thread goes on.
 */
export class Leases {
  readonly #statement: Statements;
  readonly #monotonic: () => number;
  readonly #pulse: Int32Array;
  #lastPulse = 0;
  /** How often the main thread's pulse was found as it was. */
  #looks = 0;
  readonly #watched = new Map<number, { readonly beat: number; readonly since: number }>();
  #watchedAt = Number.NEGATIVE_INFINITY;
  #heartbeatAt = Number.NEGATIVE_INFINITY;
  #isOffered = false;
  /** The id of this process's worker; null before its first lease. */
  workerId: number | null = null;
  /** The number of leases of this worker. */
  held = 0;

  /** `pulse` is counted up by the main thread; `monotonic` gives milliseconds of real time. */
  constructor({ statement }: Deliveries, pulse: SharedArrayBuffer, monotonic: () => number) {
    this.#statement = statement;
    this.#monotonic = monotonic;
    this.#pulse = new Int32Array(pulse);
  }

  /** Looks whether the main thread's pulse was counted up since. */
  look(): void {
    const pulse = Atomics.load(this.#pulse, 0);
    this.#looks = pulse === this.#lastPulse ? this.#looks + 1 : 0;
    this.#lastPulse = pulse;
  }

  /** Notes that the main thread has sent something. */
  hasSent(): void {
    this.#looks = 0;
  }

  /** Whether deliveries may be claimed: the main thread answers; false after 2 seconds. */
  get mayClaim(): boolean {
    return this.#looks < looksUntilSilent;
  }

  /** Whether the main thread's event loop stands still: after 5 seconds. */
  get #standsStill(): boolean {
    return this.#looks >= looksUntilStandstill;
  }

  get isHeartbeatDue(): boolean {
    if (this.held === 0) return false;
    if (this.#standsStill) return !this.#isOffered;
    return this.#isOffered || this.#monotonic() - this.#heartbeatAt >= heartbeatMs;
  }

  /** Sends a heartbeat if one is due, or offers the leases; forgets them if another worker has taken them. */
  heartbeat(): void {
    const now = this.#monotonic();
    const standsStill = this.#standsStill;
    const isRecent = now - this.#heartbeatAt < heartbeatMs / 2;
    if (this.workerId === null || (isRecent && standsStill === this.#isOffered)) return;
    this.#heartbeatAt = now;
    this.#isOffered = standsStill;
    const beat = this.#statement(
      `UPDATE owner SET beat = ${standsStill ? offered : "beat + 1"} WHERE number = ?`,
    );
    if (Number(beat.run(this.workerId).changes) > 0) return;
    this.workerId = null;
    this.held = 0;
  }

  /** Returns the id of this process's worker, which is registered in the file from its first lease on. */
  register(): number {
    if (this.workerId === null) {
      const id = randomInt(1, 2 ** 47);
      const insert = this.#statement("INSERT INTO owner (number, beat, process) VALUES (?, 0, ?)");
      insert.run(id, `${process.pid} on ${hostname()}`);
      this.workerId = id;
      this.#heartbeatAt = this.#monotonic();
    }
    return this.workerId;
  }

  /** The other workers that offer their leases, or without a heartbeat for too long, while this process was able to watch. */
  deadWorkers(): DeadWorker[] {
    const now = this.#monotonic();
    const rows = this.#statement("SELECT number, beat, process FROM owner").all();
    // While this process was blocked or waited for the file, others may have been, too.
    if (now - this.#watchedAt > leaseLostAfterMs / 2) this.#watched.clear();
    this.#watchedAt = now;
    const present = new Set(rows.map(({ number }) => Number(number)));
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    const dead: DeadWorker[] = [];
    for (const row of rows) {
      const [id, beat] = [Number(row["number"]), Number(row["beat"])];
      if (id === this.workerId) continue;
      const process = String(row["process"] ?? "unknown");
      const { since = now, beat: before } = this.#watched.get(id) ?? {};
      const silentMs = now - since;
      if (beat === offered) dead.push({ id, process, silentMs: leaseLostAfterMs });
      else if (beat !== before) this.#watched.set(id, { beat, since: now });
      else if (silentMs >= leaseLostAfterMs) dead.push({ id, process, silentMs });
    }
    return dead;
  }

  /** Removes a worker without leases from the file. */
  unregister(workerId: number): void {
    this.#statement("DELETE FROM owner WHERE number = ?").run(workerId);
    this.#watched.delete(workerId);
    if (workerId === this.workerId) this.state = noLeases;
  }

  get state(): LeaseState {
    return { workerId: this.workerId, held: this.held, isOffered: this.#isOffered };
  }

  set state({ workerId, held, isOffered }: LeaseState) {
    this.workerId = workerId;
    this.held = held;
    this.#isOffered = isOffered;
    this.#heartbeatAt = Number.NEGATIVE_INFINITY;
  }
}
