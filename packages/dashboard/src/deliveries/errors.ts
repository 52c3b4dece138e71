import type { Entry } from "@reporthook/core";

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
