import { Random } from "../../inboxes/crash/random.ts";

/** The chance of a world, decided by its seed. */
export class Chance extends Random {
  /** True in so many of a hundred cases. */
  yes(percent: number): boolean {
    return this.below(10_000) < percent * 100;
  }

  /** A whole number from `least` on, below `end`. */
  between(least: number, end: number): number {
    return least + this.below(end - least);
  }

  /** A number from 0 on, below 1. */
  fraction(): number {
    return this.below(2 ** 32) / 2 ** 32;
  }

  /** One of several, each as likely as its weight says. */
  weighed<T extends string>(weights: Readonly<Record<T, number>>): T {
    const all = Object.entries(weights) as [T, number][];
    let left = this.below(all.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [name, weight] of all) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error("Weights must be whole numbers, and not all 0");
  }

  fill<T extends ArrayBufferView>(array: T): T {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (const at of bytes.keys()) bytes[at] = this.below(256);
    return array;
  }
}
