import { randomInt } from "node:crypto";
import type { Database, Statement } from "../../database/driver.ts";
import { beatMs, lostAfterMs } from "../../protocol/protocol.ts";

/**
 * Who works on deliveries, in this process and in others. An owner beats while it holds leases; others watch the beat, by
 * their own monotonic time, so that no clock that is set wrong or changed takes or gives a lease.
 */
export class Leases {
  readonly #insert: Statement;
  readonly #beat: Statement;
  readonly #others: Statement;
  readonly #delete: Statement;
  readonly #watched = new Map<number, { readonly beat: number; readonly since: number }>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #owner: number | null = null;
  #beatAt = Number.NEGATIVE_INFINITY;
  /** How many leases this owner holds. */
  held = 0;

  constructor(database: Database) {
    this.#insert = database.prepare("INSERT INTO owner (number, beat) VALUES (?, 0)");
    this.#beat = database.prepare("UPDATE owner SET beat = beat + 1 WHERE number = ?");
    this.#others = database.prepare("SELECT number, beat FROM owner");
    this.#delete = database.prepare("DELETE FROM owner WHERE number = ?");
  }

  /** The number of this owner, or null before its first lease. */
  get owner(): number | null {
    return this.#owner;
  }

  /** Whether a beat is due. */
  due(now: number): boolean {
    return this.held > 0 && now - this.#beatAt >= beatMs;
  }

  /** Beats; false when another has taken the leases meanwhile. */
  beat(now: number): boolean {
    if (this.#owner === null || now - this.#beatAt < beatMs / 2) return true;
    this.#beatAt = now;
    if (Number(this.#beat.run(this.#owner).changes) > 0) return true;
    const lost = this.held > 0;
    this.#owner = null;
    this.held = 0;
    return !lost;
  }

  /** The owner to lease to. */
  own(now: number): number {
    if (this.#owner === null) {
      const number = randomInt(1, 2 ** 47);
      this.#insert.run(number);
      this.#owner = number;
      this.#beatAt = now;
    }
    return this.#owner;
  }

  /** The owners whose beat has stood still for too long. */
  dead(now: number): number[] {
    const rows = this.#others.all();
    // While this process stood still, or waited for the file, others may have had to.
    if (now - this.#lookedAt > lostAfterMs / 2) this.#watched.clear();
    this.#lookedAt = now;
    const present = new Set(rows.map(({ number }) => Number(number)));
    for (const number of this.#watched.keys())
      if (!present.has(number)) this.#watched.delete(number);
    const dead: number[] = [];
    for (const row of rows) {
      const [number, beat] = [Number(row["number"]), Number(row["beat"])];
      if (number === this.#owner) continue;
      const watched = this.#watched.get(number);
      if (watched?.beat !== beat) this.#watched.set(number, { beat, since: now });
      else if (now - watched.since >= lostAfterMs) dead.push(number);
    }
    return dead;
  }

  /** Takes the name of an owner out of the file. */
  end(owner: number): void {
    this.#delete.run(owner);
    this.#watched.delete(owner);
    if (owner !== this.#owner) return;
    this.#owner = null;
    this.held = 0;
  }

  /** What a transaction that fails has to put back. */
  get state(): { readonly owner: number | null; readonly held: number } {
    return { owner: this.#owner, held: this.held };
  }

  set state({ owner, held }: { readonly owner: number | null; readonly held: number }) {
    this.#owner = owner;
    this.held = held;
    this.#beatAt = Number.NEGATIVE_INFINITY;
  }

  /** Writes for the sake of writing. */
  probe(): void {
    this.#insert.run(0);
    this.#delete.run(0);
  }
}
