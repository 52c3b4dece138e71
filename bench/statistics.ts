/** The middle one, and the smallest and largest. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The spread of at least one number. */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return {
    median: (lower + upper) / 2,
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** Each value over the one of the same round: what slows a round down slows both. */
export function ratios(values: readonly number[], base: readonly number[]): number[] {
  return values.map((value, round) => value / (base[round] ?? Number.NaN));
}

/** As a table shows it: `0.94 (0.91–0.97)`. */
export function show({ median, min, max }: Spread, digits: number): string {
  const text = (value: number): string => numberText(value, digits);
  return `${text(median)} (${text(min)}–${text(max)})`;
}

/** With thousands separated; nothing for what is no number. */
export function numberText(value: number, digits: number): string {
  if (Number.isNaN(value)) return "";
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
