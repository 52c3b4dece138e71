import { createInterface, type Interface, type Key } from "node:readline";

/** The functions that are called while somebody types. */
interface Typing {
  press(key: string): void;
  end(): void;
  /** The process goes on after Ctrl-Z. */
  resumed(): void;
}

const arrows: Readonly<Record<string, string>> = { up: "↑", down: "↓" };

/**
 * Reads each key of a terminal, else lines of one letter, until it is closed. `q` ends, and on a terminal Ctrl-C, Ctrl-D, and
 * Ctrl-Z on Windows, which can't suspend. The terminal's mode is restored also when the process crashes.
 */
export function readKeys(isTerminal: boolean, { press, end, resumed }: Typing): Interface {
  const { stdin } = process;
  const typed = (key: string): void => (key === "q" ? end() : press(key));
  const input = createInterface({ input: stdin, terminal: isTerminal, historySize: 0 });
  if (!isTerminal) return input.on("line", (line) => typed(line.trim()));
  const onKey = (_: string | undefined, { name = "", ctrl, sequence = "" }: Key): void => {
    const ends = process.platform === "win32" ? ["c", "d", "z"] : ["c", "d"];
    if (ctrl !== true) typed(arrows[name] ?? (name || sequence));
    else if (ends.includes(name)) end();
  };
  const restore = (): void => input.close();
  stdin.on("keypress", onKey);
  process.once("exit", restore);
  process.once("SIGHUP", end);
  // Its own way to end at Ctrl-C would be to close.
  input.on("SIGINT", () => {});
  input.on("SIGCONT", () => {
    input.resume();
    resumed();
  });
  return input.once("close", () => {
    stdin.off("keypress", onKey);
    process.off("exit", restore);
    process.off("SIGHUP", end);
  });
}
