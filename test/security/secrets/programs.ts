import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { expect } from "vitest";

/** A program that has ended. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** The text that other processes saw in place of its arguments. */
  readonly title: string;
}

/** A program that runs. */
export interface Running {
  type(line: string): void;
  printed(text: string | RegExp): Promise<void>;
  ended(): Promise<Ended>;
}

const started = new Set<ChildProcess>();

/** Starts Node with these arguments. */
export function startNode(args: readonly string[], env: Readonly<Record<string, string>>): Running {
  const { PATH = "", HOME = "" } = process.env;
  const child = spawn(process.execPath, args, { env: { PATH, HOME, ...env } });
  started.add(child);
  const text = { out: "", err: "" };
  const titles = new Set<string>();
  const look = (): void => {
    for (const part of titleOf(child)) if (!args.includes(part)) titles.add(part);
  };
  for (const [stream, name] of [[child.stdout, "out"] as const, [child.stderr, "err"] as const]) {
    stream.setEncoding("utf8").on("data", (part: string) => {
      text[name] += part;
      look();
    });
  }
  const closed = once(child, "close");
  return {
    type: (line) => void child.stdin.write(`${line}\n`),
    async printed(expected) {
      await expect.poll(() => text.out).toMatch(expected);
    },
    async ended() {
      const [code] = (await closed) as [number | null];
      return { code, ...text, title: [...titles].join("\n") };
    },
  };
}

/** Ends what still runs. */
export function endAll(): void {
  for (const child of started) child.kill("SIGKILL");
}

/** As everyone on the machine sees it; nothing where there is no /proc. */
function titleOf({ pid }: ChildProcess): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}
