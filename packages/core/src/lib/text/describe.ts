import { safeGet, safeText, tryGet } from "../safe-get.ts";

// Of errors that join others, which may join themselves: how many of each, and how deep.
const maxJoined = 5;
const maxJoinedDepth = 1;

/** One line of text for a log or an entry: name and message redacted, cut at 500 characters. */
export function describe(error: unknown, redact = (text: string): string => text): string {
  return lineOf(error, redact, maxJoinedDepth);
}

function lineOf(error: unknown, redact: (text: string) => string, depth: number): string {
  const text = typeof error === "string" && error !== "" ? error : headOf(error);
  const isJoined = depth > 0 && safeText(error, "name") === "AggregateError";
  const lines = isJoined ? joinedIn(error).map((each) => lineOf(each, redact, depth - 1)) : [];
  const shown = redact(lines.length === 0 ? text : `${text}: ${lines.join("; ")}`);
  return shown.length > 500 ? `${shown.slice(0, 499)}…` : shown;
}

/** By name and message and not by class: it may be of another realm, or no Error at all. */
function headOf(error: unknown): string {
  const named = [safeText(error, "name"), safeText(error, "message")].filter(Boolean);
  if (named.length > 0 && typeof error === "object") return named.join(": ");
  const text = `Thrown value of type ${typeof error}`;
  const isObject = typeof error === "object" && error !== null;
  const keys = (isObject && tryGet(() => Object.keys(error))) || [];
  return keys.length === 0 ? text : `${text} with the keys ${keys.slice(0, 10).join(", ")}`;
}

/** The first few of the errors that an error joins; none if they can't be read. */
export function joinedIn(error: unknown): readonly unknown[] {
  const errors = safeGet(error, "errors");
  return tryGet(() => (Array.isArray(errors) ? errors.slice(0, maxJoined) : [])) ?? [];
}
