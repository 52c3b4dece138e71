/** Milliseconds of real time: shorter work is worth waiting for. */
const shortMs = 5;
/** Before anything is known: several pieces of short work have to show it. */
const unknownMs = 2 * shortMs;

/** How long work takes: the average, in which the latest counts most. */
export class Pace {
  #averageMs = unknownMs;

  get averageMs(): number {
    return this.#averageMs;
  }

  /** Whether work is known to be so short that it is worth waiting for. */
  get isShort(): boolean {
    return this.#averageMs < shortMs;
  }

  note(ms: number): void {
    this.#averageMs += (ms - this.#averageMs) / 10;
  }

  forget(): void {
    this.#averageMs = unknownMs;
  }
}
