import { createInterface, emitKeypressEvents, type Key } from "node:readline";

/** A reader of keys or letters. */
export interface Keyboard {
  close(): void;
}

const arrows: Readonly<Record<string, string>> = { up: "↑", down: "↓" };

/**
 * Reads single keys from a terminal: Ctrl-C and `q` end, Ctrl-Z suspends, or ends on Windows. The terminal's mode is restored
 * by `close`, and when the process ends in any other way.
 */
export function readKeys(
  press: (key: string) => void,
  end: () => void,
  resumed: () => void,
): Keyboard {
  const { stdin } = process;
  const restore = (): void => void (stdin.isTTY && stdin.setRawMode(false));
  const suspend = (): void => {
    restore();
    process.once("SIGCONT", () => {
      stdin.setRawMode(true);
      resumed();
    });
    process.kill(process.pid, "SIGTSTP");
  };
  const onKey = (_: string | undefined, { name, ctrl, sequence = "" }: Key): void => {
    // Windows can't suspend.
    const ends = process.platform === "win32" ? ["c", "d", "z"] : ["c", "d"];
    const isEnd = name === "q" || (ctrl === true && ends.includes(name ?? ""));
    if (isEnd) end();
    else if (ctrl === true && name === "z") suspend();
    else if (ctrl !== true) press(arrows[name ?? ""] ?? name ?? sequence);
  };
  emitKeypressEvents(stdin);
  stdin.setRawMode(true);
  stdin.on("keypress", onKey);
  stdin.resume();
  process.once("exit", restore);
  process.once("SIGHUP", end);
  return {
    close() {
      stdin.off("keypress", onKey);
      process.off("exit", restore);
      process.off("SIGHUP", end);
      restore();
    },
  };
}

/** Reads lines, each with one letter; `q` ends. */
export function readLetters(press: (letter: string) => void, end: () => void): Keyboard {
  const input = createInterface({ input: process.stdin, terminal: false });
  input.on("line", (line) => (line.trim() === "q" ? end() : press(line.trim())));
  return input;
}
