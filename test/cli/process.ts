import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
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
  /** What it told because it took long, be it that the machine is busy. */
  readonly progress: string;
}

/** What a command that failed prints with `--json`. */
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

let program = "";
const started = new Set<ChildProcess>();

/** Says which program the command line is. */
export function useProgram(file: string): void {
  program = file;
}

/** Starts the command line. */
export function startCli(args: readonly string[], { cwd, env = {} }: Setting = {}): Running {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, [program, ...args], {
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
      // What has ended prints nothing more: its last words say why.
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

/** Ends what still runs. */
export function endAll(): void {
  for (const child of started) child.kill("SIGKILL");
}

/** The program's file, for those who start it by other means. */
export function programFile(): string {
  return program;
}

/** Runs a command to its end; its output must be fit for a pipe, whatever it is. */
export async function cli(args: readonly string[], setting: Setting = {}): Promise<Ended> {
  const running = startCli(args, setting);
  running.child.stdin?.end();
  const ended = await running.ended();
  expect(ended.out + ended.progress + ended.err, args.join(" ")).not.toContain("\u001b");
  expect(ended.err, args.join(" ")).not.toMatch(/^ +at /m);
  return ended;
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

/** The length of the longest line. */
export function widest(text: string): number {
  return Math.max(...text.split("\n").map((line) => line.length));
}
