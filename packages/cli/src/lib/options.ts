import { isLoopback } from "@reporthook/core/store";
import { type Command, InvalidArgumentError, Option } from "commander";
import { UsageError } from "./errors.ts";

/** Parses an absolute http(s) address. */
export function url(given: string): string {
  if (/^https?:\/\/\S+$/i.test(given) && URL.canParse(given)) {
    const { username, password } = new URL(given);
    if (username === "" && password === "") return given;
    throw new InvalidArgumentError("It must not contain a user or password.");
  }
  const hint = /^[\w.-]+(:\d+)?(\/\S*)?$/.test(given) ? `, like http://${given}` : "";
  throw new InvalidArgumentError(`It must be an absolute http(s) URL${hint}.`);
}

/** Parses an address to listen on. */
export function host(given: string): string {
  const address = given.replace(/^\[(.*)\]$/, "$1");
  if (address !== "") return address;
  throw new InvalidArgumentError("It must name an address of this machine, like 127.0.0.1.");
}

/** Parses an address that only this machine can reach. */
export function loopback(given: string): string {
  if (isLoopback(given)) return host(given);
  throw new InvalidArgumentError(
    "It must be 127.0.0.1, ::1 or localhost, because there is no login. To let others in, mount the dashboard in your app with authorize.",
  );
}

/** Parses a whole number within limits. */
export function integer(least: number, most: number): (given: string) => number {
  return (given) => {
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** The receiver's name in an app that sets none. */
export const usualReceiver = "reports";

/** The option for a receiver's name. */
export function receiverOption(what: string, usual?: string): Option {
  const name = (given: string): string => {
    if (/^[\w.-]{1,64}$/.test(given)) return given;
    throw new InvalidArgumentError(
      "It must be 1 to 64 letters, digits, dots, hyphens or underscores, as in the app's option name.",
    );
  };
  return new Option("--receiver <name>", what).argParser(name).default(usual);
}

/** The option for the length of a list. */
export function limitOption(most: number): Option {
  return new Option("--limit <count>", "maximum number").argParser(integer(1, most)).default(100);
}

/** The option for the port of a server. */
export function portOption(usual: number): Option {
  const what = "port to listen on; 0 takes a free one";
  return new Option("--port <port>", what).argParser(integer(0, 65_535)).default(usual);
}

/** Parses the path of a file that may be missing. */
export function file(given: string): string {
  if (given !== "" && given !== ":memory:") return given;
  throw new InvalidArgumentError("It must name a file.");
}

/** Parses the values of an option that may be repeated. */
export function each<Value>(
  parse: (given: string) => Value,
): (given: string, before?: readonly Value[]) => readonly Value[] {
  return (given, before = []) => [...before, parse(given)];
}

/** @throws UsageError if an option took the one after it as its value */
export function assertValues(command: Command): void {
  for (const option of command.options) {
    const given: unknown = command.getOptionValue(option.attributeName());
    const taken = [given].flat().find((value) => String(value).startsWith("--"));
    if (taken !== undefined) throw new UsageError(`${option.long} needs a value, not ${taken}`);
  }
}

/** A description and a command line. */
export type Example = readonly [what: string, line: string];

/** Shows examples below a command's help. */
export function withExamples(command: Command, examples: readonly Example[]): Command {
  const lines = examples.map(([what, line]) => `  # ${what}\n  $ ${line}`);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}

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
