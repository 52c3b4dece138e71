import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { startNode } from "../../cli/process.ts";

/** A program that runs. */
export interface Watched {
  type(line: string): void;
  printed(text: string | RegExp): Promise<string>;
  ended(): Promise<{
    readonly code: number | null;
    /** All that it printed, and the text that other processes saw in place of its arguments. */
    readonly shown: string;
  }>;
}

/** Starts Node with these arguments. */
export function startWatched(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Watched {
  const { child, type, printed, ended } = startNode(args, { env });
  const titles = new Set<string>();
  const look = (): void => {
    for (const part of titleOf(child)) if (!args.includes(part)) titles.add(part);
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", look);
  return {
    type,
    printed,
    async ended() {
      const { code, out, err, progress } = await ended();
      return { code, shown: [out, progress, err, ...titles].join("\n") };
    },
  };
}

/** As everyone on the machine sees it; nothing where there is no /proc. */
function titleOf({ pid }: ChildProcess): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  } catch {
    return [];
  }
}
