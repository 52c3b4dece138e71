import type { CountsByKind } from "../protocol/kinds.ts";

/** The deliveries on their way to the file: counts by receiver and kind, and their bytes. */
export class Pending {
  readonly #counts = new Map<string, number[]>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  countsOf(receiver: string): CountsByKind {
    return this.#counts.get(receiver) ?? [];
  }

  /** Adds one delivery, or takes it away again. */
  change(by: 1 | -1, receiver: string, kind: number, bytes: number): void {
    let counts = this.#counts.get(receiver);
    if (counts === undefined) {
      counts = [];
      this.#counts.set(receiver, counts);
    }
    counts[kind] = (counts[kind] ?? 0) + by;
    this.#bytes += by * bytes;
  }
}
