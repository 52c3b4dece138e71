import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { expect } from "vitest";

/** How a command is run. */
export interface Setting {
  readonly cwd?: string;
  /** Beside what every process needs; nothing of the service is taken over from the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A command that has ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  /** Without the progress. */
  readonly err: string;
  /** The lines of progress, which appear when it takes long, for example on a busy machine. */
  readonly progress: string;
}

/** The output of a failed command with `--json`. */
export interface Failed {
  readonly error: {
    readonly message: string;
    readonly code?: string;
    readonly status?: number;
    readonly body?: unknown;
  };
}

/** A command that runs. */
export interface Running {
  readonly child: ChildProcess;
  out(): string;
  /** Types a line. */
  type(line: string): void;
  /** Resolves once it was printed, to all that was. */
  printed(text: string | RegExp): Promise<string>;
  ended(): Promise<Ended>;
}

/** A command that runs on a pseudo-terminal. */
export interface OnTerminal {
  /** Its process, once it has printed anything. */
  pid(): Promise<number>;
  /** Types keys, as they are sent by a terminal. */
  press(keys: string): void;
  /** Resolves once it was printed after all that was waited for before. */
  shown(text: string | RegExp): Promise<string>;
  /** Resolves to its exit code, and to the terminal's settings after it. */
  ended(): Promise<{ readonly code: number; readonly settings: string; readonly text: string }>;
}

let program = "";
const started = new Set<ChildProcess>();

/** Says which program the command line is. */
export function useProgram(file: string): void {
  program = file;
}

/** Starts the command line. */
export function startCli(args: readonly string[], setting: Setting = {}): Running {
  return startNode([program, ...args], setting);
}

/** Starts Node with these arguments. */
export function startNode(args: readonly string[], { cwd, env = {} }: Setting = {}): Running {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, args, {
    ...(cwd !== undefined && { cwd }),
    env: { PATH, HOME, ...env },
  });
  started.add(child);
  const text = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text.out += part;
  });
  child.stderr.setEncoding("utf8").on("data", (part: string) => {
    text.err += part;
  });
  const closed = once(child, "close");
  return {
    child,
    out: () => text.out,
    type: (line) => void child.stdin.write(`${line}\n`),
    async printed(expected) {
      // A program that has ended prints nothing more: its errors say why.
      const soFar = (): string => text.out + (child.exitCode === null ? "" : text.err);
      await expect.poll(soFar).toMatch(expected);
      return text.out;
    },
    async ended() {
      const [code] = (await closed) as [number | null];
      const isProgress = / …\n$/;
      const lines = text.err.split(/(?<=\n)/);
      const err = lines.filter((line) => !isProgress.test(line)).join("");
      const progress = lines.filter((line) => isProgress.test(line)).join("");
      return { code, out: text.out, err, progress };
    },
  };
}

/** Starts the command line on a pseudo-terminal of 80 columns. The terminal's settings are printed after it. */
export function startOnTerminal(
  args: readonly string[],
  { cwd, env = {} }: Setting = {},
): OnTerminal {
  const { PATH = "", HOME = "" } = process.env;
  const quoted = [process.execPath, program, ...args].map((arg) => `'${arg}'`).join(" ");
  // The shell ignores what ends the command; its own process id says whose child that is.
  const line = `stty cols 80 rows 30; trap : INT TERM HUP; sh -c 'echo "pid $$ ."; exec "$@"' - ${quoted}; echo "ended $?"; stty -a; exit 0`;
  const child = spawn("script", ["-qec", line, "/dev/null"], {
    ...(cwd !== undefined && { cwd }),
    env: { PATH, HOME, TERM: "xterm-256color", NO_COLOR: "1", ...env },
  });
  started.add(child);
  let text = "";
  let from = 0;
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const closed = once(child, "close");
  const shown = async (expected: string | RegExp): Promise<string> => {
    await expect.poll(() => text.slice(from)).toMatch(expected);
    const rest = text.slice(from);
    const [match = ""] = typeof expected === "string" ? [expected] : (expected.exec(rest) ?? []);
    from += rest.indexOf(match) + match.length;
    return match;
  };
  return {
    pid: async () => Number(/\d+/.exec(await shown(/pid \d+ \./))?.[0]),
    press: (keys) => void child.stdin.write(keys),
    shown,
    async ended() {
      await closed;
      const [, code, settings = ""] = /ended (\d+)\r\n([\s\S]*)$/.exec(text) ?? [];
      return { code: Number(code), settings, text };
    },
  };
}

/** A terminal, and what is typed on it. */
interface Terminal extends Setting {
  readonly columns: number;
  readonly input?: string;
}

/** Runs Node with these arguments to its end on a pseudo-terminal: its exit code, and all that is shown. */
export function nodeOnTerminal(
  args: readonly string[],
  { cwd, env = {}, columns, input }: Terminal,
): { readonly status: number | null; readonly shown: string } {
  const { PATH = "", HOME = "" } = process.env;
  const quoted = [process.execPath, ...args].map((arg) => `'${arg}'`).join(" ");
  const line = `stty cols ${columns} rows 30; ${quoted}`;
  const { status, stdout } = spawnSync("script", ["-qec", line, "/dev/null"], {
    cwd,
    input,
    env: { PATH, HOME, TERM: "xterm-256color", ...env },
    timeout: 120_000,
  });
  return { status, shown: stdout.toString() };
}

/** Ends what still runs. */
export function endAll(): void {
  for (const child of started) child.kill("SIGKILL");
}

/** The program's file, for those who start it by other means. */
export function programFile(): string {
  return program;
}

/** Runs a command to its end; its output must be fit for a pipe: without escape sequences and stacks. */
export async function cli(args: readonly string[], setting: Setting = {}): Promise<Ended> {
  const running = startCli(args, setting);
  running.child.stdin?.end();
  const ended = await running.ended();
  expect(ended.out + ended.progress + ended.err, args.join(" ")).not.toContain("\u001b");
  expect(ended.err, args.join(" ")).not.toMatch(/^ +at /m);
  return ended;
}

/** Runs a command that ends with this exit code, and whose error says so. */
export async function cliFails(
  code: number,
  args: readonly string[],
  said: string,
  setting?: Setting,
): Promise<void> {
  const ended = await cli(args, setting);
  expect([ended.code, ended.err]).toEqual([code, expect.stringContaining(said)]);
}

/** Runs a command to its end on a terminal of 80 columns; the frames of its spinner are left out, and its error. */
export async function cliOnTerminal(
  args: readonly string[],
): Promise<{ readonly code: number; readonly out: string }> {
  const { code, text } = await startOnTerminal(args).ended();
  const [, out = ""] = /^pid \d+ \.\r\n([\s\S]*)ended \d+\r\n/.exec(text) ?? [];
  const lines = out.replaceAll("\r\n", "\n").replaceAll("\u001b[1G\u001b[0K", "\r");
  const shown = stripVTControlCharacters(lines.replaceAll(/^.*\r/gm, ""));
  return { code, out: shown.replace(/^reporthook: .*$/m, "") };
}

/** Runs a command with `--json` and reads what it prints. */
export async function cliJson<Value = unknown>(
  args: readonly string[],
  setting: Setting = {},
): Promise<{ readonly code: number | null; readonly value: Value }> {
  const { code, out, err, progress } = await cli([...args, "--json"], setting);
  expect(progress + err).toBe("");
  return { code, value: JSON.parse(out) as Value };
}

/** The commands that a text tells to type, as arguments. */
export function commandsIn(text: string): string[][] {
  return Array.from(text.matchAll(/ npx reporthook (.+)$/gm), ([, line = ""]) => line.split(" "));
}

/** The length of the longest line. */
export function widest(text: string): number {
  return Math.max(...text.split("\n").map((line) => line.length));
}
