import type { Entry } from "@reporthook/core";

/** An error that several deliveries of a reason share. */
export interface CommonError {
  /** As the newest of them has it. */
  readonly text: string;
  /** Whether an attempt failed with it; else it is the message of the reason. */
  readonly isThrown: boolean;
  /** How many have it. */
  readonly number: number;
  /** How many were looked at: the newest of the reason. */
  readonly of: number;
  /** The newest of them. */
  readonly id: string;
}

/** The error of a delivery in one line: of its last attempt, else the message of its reason. Null when there is none. */
export function errorOf({ lastError, reason }: Pick<Entry, "lastError" | "reason">): string | null {
  const [line = ""] = (lastError ?? reason?.message ?? "").split("\n", 1);
  // Meanwhile the key may be right.
  const told = line.replace(
    /^The service refuses the API key/,
    "When last asked, the service refused the API key",
  );
  return told === "" ? null : told;
}

const mostShown = 3;

/** The most frequent errors of deliveries, newest first; ids and numbers in them make no difference. */
export function commonErrorsOf(
  entries: readonly Pick<Entry, "id" | "lastError" | "reason">[],
): CommonError[] {
  const kinds = new Map<string, CommonError>();
  for (const entry of entries) {
    const text = errorOf(entry);
    if (text === null) continue;
    const kind = text.replace(/[\w-]*\d[\w-]*/g, "#");
    const { id, lastError } = entry;
    const isThrown = lastError !== null;
    const newest = kinds.get(kind) ?? { text, isThrown, number: 0, of: entries.length, id };
    kinds.set(kind, { ...newest, number: newest.number + 1 });
  }
  return [...kinds.values()].sort((one, other) => other.number - one.number).slice(0, mostShown);
}
