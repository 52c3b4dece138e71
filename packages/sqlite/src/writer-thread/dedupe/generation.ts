import { type Hash, HashTable } from "./hash-table.ts";

/** The number of bytes of a key that are from the signature. */
export const signatureBytes = 12;

/** The keys of one generation in memory: numbers, which the file confirms. */
export interface Generation {
  /** The last number before it. */
  readonly after: number;
  /** The newest key of each signature, by that half: nearly all, because hardly any signature comes twice. */
  readonly newest: HashTable;
  /** The others, by the whole key. */
  readonly others: HashTable;
  /** The previous key with the same signature, by number. */
  readonly before: Map<number, number>;
}

/** An empty generation, for numbers above `after`. */
export function newGeneration(after: number): Generation {
  return {
    after,
    newest: new HashTable(after),
    others: new HashTable(after),
    before: new Map(),
  };
}

/** The entries of a generation in memory. */
export function generationSize({ newest, others, before }: Generation): number {
  return newest.size + others.size + before.size;
}

/** The hashes of a key, and of the half of it that is made of the signature. */
export function hashesOf(key: Uint8Array): { readonly whole: Hash; readonly signature: Hash } {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
  const word = (at: number): number => view.getUint32(4 * at);
  // All words of the signature go into the first one, too: signatures with the same beginning differ.
  const whole: Hash = [(word(0) ^ word(3)) >>> 0, (word(1) ^ word(2) ^ word(4)) >>> 0];
  return { whole, signature: [word(0), word(1)] };
}
