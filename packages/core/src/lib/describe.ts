import { safeGet } from "./redact.ts";

// Of errors that join others, which may join themselves: how deep, and how many of each.
const maxJoined = 5;

/** One line of text for a log or an entry: name and message redacted, cut at 500 characters. */
export function describe(error: unknown, redact = (text: string): string => text): string {
  return lineOf(error, redact, maxJoined);
}

function lineOf(error: unknown, redact: (text: string) => string, joined: number): string {
  let text = typeof error === "string" ? error : headOf(error);
  const errors = textOf(error, "name") === "AggregateError" ? safeGet(error, "errors") : null;
  try {
    if (Array.isArray(errors) && joined > 0) {
      const lines = errors.slice(0, maxJoined).map((each) => lineOf(each, redact, joined - 1));
      text += `: ${lines.join("; ")}`;
    }
  } catch {
    // A list that can't be read is left out.
  }
  const shown = redact(text);
  return shown.length > 500 ? `${shown.slice(0, 499)}…` : shown;
}

/** By name and message and not by class: it may be of another realm, or no Error at all. */
function headOf(error: unknown): string {
  const named = [textOf(error, "name"), textOf(error, "message")].filter((text) => text !== "");
  if (named.length > 0 && typeof error === "object") return named.join(": ");
  const text = `Thrown value of type ${typeof error}`;
  try {
    const keys = typeof error === "object" && error !== null ? Object.keys(error) : [];
    return keys.length === 0 ? text : `${text} with the keys ${keys.slice(0, 10).join(", ")}`;
  } catch {
    return text;
  }
}

/** Empty where there is none, for anything may have been thrown. */
function textOf(error: unknown, name: "name" | "message"): string {
  const text = safeGet(error, name);
  return typeof text === "string" ? text : "";
}
