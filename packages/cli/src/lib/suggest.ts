import { InvalidArgumentError, Option } from "commander";

/** An option with a few allowed words; the error names the nearest word, and all. */
export function choiceOption(flags: string, what: string, words: readonly string[]): Option {
  return new Option(flags, what).choices(words).argParser(oneOf(words));
}

/** Parses one of a few words. */
export function oneOf<Word extends string>(words: readonly Word[]): (given: string) => Word {
  return (given) => {
    const found = words.find((word) => word === given);
    if (found !== undefined) return found;
    const near = nearest(given, words);
    const hint = near === undefined ? "" : ` (Did you mean ${near}?)`;
    throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.${hint}`);
  };
}

/** The most similar word, if one is similar. */
function nearest(given: string, words: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z]+/g, "");
  const short = plain(given.slice(0, 100));
  const rated = words
    .map((word) => ({ word, changes: changesBetween(short, plain(word)) }))
    .filter(({ word, changes }) => changes <= Math.max(2, plain(word).length * 0.4))
    .sort((one, other) => one.changes - other.changes);
  return short === "" ? undefined : rated[0]?.word;
}

/** The edit distance between two texts. */
function changesBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
