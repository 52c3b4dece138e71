import { type Command, InvalidArgumentError, Option } from "commander";
import { isLoopback } from "./listen.ts";

/** An absolute http(s) address, to be asked as it is. */
export function url(given: string): string {
  if (/^https?:\/\/\S+$/i.test(given) && URL.canParse(given)) {
    const { username, password } = new URL(given);
    if (username === "" && password === "") return given;
    throw new InvalidArgumentError("It must hold no user and no password: leave them out.");
  }
  const hint = /^[\w.-]+(:\d+)?(\/\S*)?$/.test(given) ? `, like http://${given}` : "";
  throw new InvalidArgumentError(`It must be an absolute http(s) URL${hint}.`);
}

/** An address that only this machine reaches. */
export function loopback(given: string): string {
  if (isLoopback(given)) return given.replaceAll(/[[\]]/g, "");
  throw new InvalidArgumentError(
    "It must be 127.0.0.1, ::1 or localhost: there is no login; for others, mount it in your app with authorize.",
  );
}

/** A whole number within bounds. */
export function integer(least: number, most: number): (given: string) => number {
  return (given) => {
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** The name of a receiver. */
export function receiverName(given: string): string {
  if (/^[\w.-]{1,64}$/.test(given)) return given;
  throw new InvalidArgumentError(
    "It must be 1 to 64 letters, digits, dots, hyphens or underscores: the app's option name.",
  );
}

/** The path of a file that need not be there. */
export function file(given: string): string {
  if (given !== "" && given !== ":memory:") return given;
  throw new InvalidArgumentError("It must name a file.");
}

/** Puts one more value into a list. */
export function collect(given: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), given];
}

/** The option that every command has. */
export function jsonOption(): Option {
  return new Option("--json", "print JSON, for other programs");
}

/** What a command line does, and the command line. */
export type Example = readonly [what: string, line: string];

/** Shows examples below a command's help. */
export function withExamples(command: Command, examples: readonly Example[]): Command {
  const lines = examples.map(([what, line]) => `  # ${what}\n  $ ${line}`);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}
