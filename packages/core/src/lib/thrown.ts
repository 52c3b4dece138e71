import { describe } from "./describe.ts";
import { printable } from "./printable.ts";
import { read } from "./redact.ts";

type Clean = (text: string) => string;

const mostCauses = 4;
const mostJoined = 5;
const mostKept = 1_000;
const mostStack = 8_000;

/** What was thrown, as text that is kept: one line as {@link describe} makes it, its first frames, and those of its causes. */
export function account(thrown: unknown, clean: Clean): string {
  const text = linesOf(thrown, clean, 3, 0).join("\n");
  return text.length > mostKept ? `${text.slice(0, mostKept - 1)}…` : text;
}

function linesOf(thrown: unknown, clean: Clean, frames: number, depth: number): string[] {
  const own = framesOf(thrown).slice(0, frames);
  const lines = [
    describe(thrown, clean),
    ...own.map((frame) => `    ${clean(frame).slice(0, 200)}`),
  ];
  if (depth === mostCauses) return lines;
  const below = (word: string, other: unknown): string[] => {
    const [first = "", ...rest] = linesOf(other, clean, 2, depth + 1);
    return [`  ${word} ${first}`, ...rest];
  };
  const joined = joinedIn(thrown).flatMap((each) => below("one of them:", each));
  const cause = read(thrown, "cause");
  return [...lines, ...joined, ...(cause === undefined ? [] : below("caused by", cause))];
}

function framesOf(thrown: unknown): string[] {
  const stack = read(thrown, "stack");
  const lines = typeof stack === "string" ? stack.slice(0, mostStack).split("\n") : [];
  return lines.map((line) => line.trim()).filter((line) => /^at |@.*:\d+:\d+$/.test(line));
}

function joinedIn(thrown: unknown): readonly unknown[] {
  const errors = read(thrown, "errors");
  try {
    return Array.isArray(errors) ? errors.slice(0, mostJoined) : [];
  } catch {
    return [];
  }
}

/**
 * An `Error` for the logger: name, message, code, stack and causes of what was thrown, without secrets. Not the original: that may
 * carry a request, and with it a secret, in any property.
 */
export function shownError(thrown: unknown, redact: Clean, depth = 0): Error {
  // A console prints a stack as it is.
  const clean: Clean = (text) => printable(redact(text), "\n\t");
  const message = read(thrown, "message");
  const shown = new Error(
    typeof message === "string" ? clean(message).slice(0, 2_000) : describe(thrown, clean),
  );
  const set = (name: string, value: unknown, enumerable = false): void => {
    Object.defineProperty(shown, name, { value, enumerable, configurable: true, writable: true });
  };
  const name = read(thrown, "name");
  if (typeof name === "string") set("name", clean(name));
  const code = read(thrown, "code");
  if (typeof code === "string") set("code", clean(code), true);
  const stack = read(thrown, "stack");
  set(
    "stack",
    typeof stack === "string"
      ? clean(stack).slice(0, mostStack)
      : `${shown.name}: ${shown.message}`,
  );
  if (depth === mostCauses) return shown;
  const cause = read(thrown, "cause");
  if (cause !== undefined) set("cause", shownError(cause, redact, depth + 1));
  const joined = joinedIn(thrown);
  if (joined.length > 0) {
    set(
      "errors",
      joined.map((each) => shownError(each, redact, depth + 1)),
    );
  }
  return shown;
}

/** What was thrown, as fields of a log line. */
export function shownFields(
  thrown: unknown,
  clean: Clean,
): { readonly error: string; readonly err: Error } {
  return { error: describe(thrown, clean), err: shownError(thrown, clean) };
}

// Beside the outcome and not in it: an inbox stores outcomes, and no store takes an error.
const errors = new WeakMap<object, Error>();

/** The outcome, with the error that the logger is to be given. */
export function withError<Of extends object>(outcome: Of, error: Error): Of {
  errors.set(outcome, error);
  return outcome;
}

/** The error of an outcome, as a field of a log line. */
export function errField(outcome: object): { readonly err?: Error } {
  const err = errors.get(outcome);
  return err === undefined ? {} : { err };
}
