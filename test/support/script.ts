import { type SpawnOptionsWithoutStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import type { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

/** A process that runs lines of JavaScript. */
export interface Script {
  readonly stdin: Writable;
  /** Resolves at the first output. */
  said(): Promise<unknown>;
  /** Its exit code, null if it was killed, and all that it printed. */
  readonly ended: Promise<{
    readonly code: number | null;
    readonly stdout: string;
    readonly stderr: string;
  }>;
}

/** Runs lines of JavaScript, to which our packages are their sources; they are found from `cwd`. */
export function startScript(code: string, options: SpawnOptionsWithoutStdio = {}): Script {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const flags = ["--conditions=@reporthook/source", "--import", tsx, "--input-type=module"];
  const child = spawn(process.execPath, [...flags, "--eval", code], options);
  const ended = Promise.all([once(child, "close"), text(child.stdout), text(child.stderr)]);
  return {
    stdin: child.stdin,
    said: () => once(child.stdout, "data"),
    ended: ended.then(([[code], stdout, stderr]) => ({ code, stdout, stderr })),
  };
}
