import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { ReporthookError } from "@reporthook/core";
import { here } from "./here.ts";

/**
 * Starts the file `engine-thread` beside this one as a worker thread, without the `--import` and `--require` hooks
 * that the process was started with (those in `NODE_OPTIONS` run: Yarn needs its own there).
 *
 * @throws {ReporthookError} `inbox_failed`, when this file was bundled and that one was left behind.
 */
export function startThread(workerData: unknown): Worker {
  const fromSource = here.endsWith(".ts");
  const name = fromSource ? "./engine-thread.ts" : "./engine-thread.js";
  const file = here === "" ? null : new URL(name, here);
  if (file === null || !existsSync(file)) {
    throw new ReporthookError(
      "inbox_failed",
      "The file of the inbox's thread is missing. Keep @reporthook/sqlite out of the bundle: it must be external",
    );
  }
  const options = { name: "reporthook-sqlite", workerData, execArgv: [] };
  return fromSource ? startSource(file, options) : new Worker(file, options);
}

/** From TypeScript files, which import our other packages' sources, so that the workspace needs no build. */
function startSource(file: URL, options: WorkerOptions): Worker {
  const execArgv = ["--conditions=@reporthook/source"];
  const { typescript } = process.features as { typescript?: unknown };
  if (typescript) return new Worker(file, { ...options, execArgv });
  // A worker of Node 20 gets no loader from --import.
  const tsx = pathToFileURL(createRequire(here).resolve("tsx/package.json"));
  const loader = new URL("dist/esm/api/index.mjs", tsx).href;
  const code = `import("${loader}").then(({ register }) => (register(), import("${file.href}")))`;
  return new Worker(code, { ...options, execArgv, eval: true });
}
