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
export function receiverOption(
  what: string = "only deliveries of this receiver",
  usual?: string,
): Option {
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

/** Parses a text, which is not to be that of a variable that is not set. */
export function text(given: string): string {
  if (given.trim() !== "") return given;
  throw new InvalidArgumentError("It must not be empty: is a variable not set?");
}

/** Parses the path of a file that may be missing. */
export function file(given: string): string {
  if (!/^(file:|\w+:\/\/|:memory:|$)/i.test(given)) return given;
  throw new InvalidArgumentError("It must name a file, and no URL.");
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

/** Command lines, by what they are for. */
export type Examples = Readonly<Record<string, string>>;

/** Shows examples below a command's help. */
export function withExamples(command: Command, examples: Examples): Command {
  const lines = Object.entries(examples).map(([what, line]) => `  # ${what}\n  $ ${line}`);
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

/** The most similar word, if one is similar: by the pairs of letters that both have. */
function nearest(given: string, words: readonly string[]): string | undefined {
  const pairsIn = (text: string): ReadonlySet<string> => {
    const letters = text.toLowerCase().replaceAll(/[^a-z]+/g, "");
    return new Set(Array.from(letters, (_, at) => letters.slice(at, at + 2)));
  };
  const asked = pairsIn(given.slice(0, 100));
  const rated = words.map((word) => {
    const pairs = pairsIn(word);
    const shared = [...pairs].filter((pair) => asked.has(pair));
    return { word, share: (2 * shared.length) / (pairs.size + asked.size) };
  });
  const [best] = rated.sort((one, other) => other.share - one.share);
  return best !== undefined && best.share >= 0.4 ? best.word : undefined;
}
