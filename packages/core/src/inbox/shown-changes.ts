/** The changes that an inbox has shown: each one after them gets a later time, so that a list can be compared with it. */
export class ShownChanges {
  #newest = Number.NEGATIVE_INFINITY;

  /** Notes an entry, and returns it. */
  show<T extends { readonly changedAt: Date } | null>(entry: T): T {
    if (entry !== null) this.#newest = Math.max(this.#newest, entry.changedAt.getTime());
    return entry;
  }

  /** The time of a change that is made at `now`. */
  after(now: number): number {
    return Math.max(now, this.#newest + 1);
  }
}
