import { safeGet, safeText } from "./safe-get.ts";
import { describe, joinedIn } from "./text/describe.ts";
import { printable } from "./text/printable.ts";

type Redact = (text: string) => string;

const maxCauses = 4;
/** Joined errors count like several causes: an error may join itself. */
const joinedDepth = 2;
const maxLinks = 16;
const maxKept = 1_000;
const maxStack = 8_000;

/** Describes a thrown value for storing: the line of {@link describe}, its first frames, and those of its causes. */
export function accountOf(thrown: unknown, redact: Redact): string {
  const text = linesOf(thrown, redact, 3, 0).join("\n");
  return text.length > maxKept ? `${text.slice(0, maxKept - 1)}…` : text;
}

function linesOf(thrown: unknown, redact: Redact, frames: number, depth: number): string[] {
  const own = framesOf(thrown).slice(0, frames);
  const lines = [
    describe(thrown, redact),
    ...own.map((frame) => `    ${redact(frame).slice(0, 200)}`),
  ];
  if (depth >= maxCauses) return lines;
  const below = (word: string, other: unknown, deeper: number): string[] => {
    const [first = "", ...rest] = linesOf(other, redact, 2, depth + deeper);
    return [`  ${word} ${first}`, ...rest];
  };
  const joined = joinedIn(thrown).flatMap((each) => below("one of them:", each, joinedDepth));
  const cause = safeGet(thrown, "cause");
  return [...lines, ...joined, ...(cause === undefined ? [] : below("caused by", cause, 1))];
}

function framesOf(thrown: unknown): string[] {
  const lines = safeText(thrown, "stack")?.slice(0, maxStack).split("\n") ?? [];
  return lines.map((line) => line.trim()).filter(isFrame);
}

/** In linear time: a stack begins with the message, which may quote what a stranger sent. */
function isFrame(line: string): boolean {
  return line.startsWith("at ") || (line.includes("@") && /:\d+:\d+$/.test(line));
}

/**
 * Copies a thrown value as an `Error` to show: name, message, code, stack and causes, without secrets. The original may carry a
 * request, and with it a secret, in any property.
 */
export function shownError(thrown: unknown, redact: Redact, depth = 0): Error {
  // A console prints a stack as it is.
  const sanitize: Redact = (text) => printable(redact(text), "\n\t");
  const textOf = (name: string): string | undefined => {
    const text = safeText(thrown, name);
    return text === undefined ? undefined : sanitize(text);
  };
  const text = typeof thrown === "string" ? sanitize(thrown) : textOf("message");
  const message = text?.slice(0, 2_000) ?? `Thrown value of type ${typeof thrown}`;
  const isDeep = depth >= maxCauses;
  const joined = (isDeep ? [] : joinedIn(thrown)).map((each) =>
    shownError(each, redact, depth + joinedDepth),
  );
  const shown = joined.length > 0 ? new AggregateError(joined, message) : new Error(message);
  const set = (name: string, value: unknown, enumerable = false): void => {
    if (value === undefined) return;
    Object.defineProperty(shown, name, { value, enumerable, configurable: true, writable: true });
  };
  set("name", textOf("name"));
  set("code", textOf("code"), true);
  set("stack", textOf("stack")?.slice(0, maxStack) ?? `${shown.name}: ${shown.message}`);
  const cause = isDeep ? undefined : safeGet(thrown, "cause");
  if (cause !== undefined) set("cause", shownError(cause, redact, depth + 1));
  return shown;
}

/** A thrown value with its causes and the errors that it joins, each before those below it; at most 16 of them. */
export function chainOf(thrown: unknown): readonly unknown[] {
  const links = [thrown];
  for (const link of links) {
    const below = [safeGet(link, "cause"), ...joinedIn(link)];
    const added = below.filter(
      (each) => each !== undefined && each !== null && !links.includes(each),
    );
    links.push(...added.slice(0, maxLinks - links.length));
  }
  return links;
}

/** The fields of a log line about a thrown value. */
export function shownFields(
  thrown: unknown,
  redact: Redact,
): { readonly error: string; readonly err: Error } {
  return { error: describe(thrown, redact), err: shownError(thrown, redact) };
}
