/** Adds the `other` counts to `counts`, key by key. */
export function addCounts<Key extends string>(
  counts: Partial<Record<Key, number>>,
  other: Readonly<Partial<Record<Key, number>>>,
): void {
  for (const [key, count] of Object.entries(other) as [Key, number][]) {
    counts[key] = (counts[key] ?? 0) + count;
  }
}

/** The sum of counts. */
export function sumOf(counts: Readonly<Partial<Record<string, number>>>): number {
  return Object.values(counts).reduce<number>((sum, count = 0) => sum + count, 0);
}
