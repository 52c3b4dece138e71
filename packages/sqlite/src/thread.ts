import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
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

/** What is needed of esbuild, which the workspace has. */
interface Bundler {
  buildSync(options: object): {
    readonly outputFiles: readonly [{ readonly contents: Uint8Array }];
  };
}

let bundled: URL | undefined;

/**
 * From TypeScript files, with our other packages' sources, so that the workspace needs no build. They are bundled here:
 * in the thread a loader would run WebAssembly, at which V8 ends the process now and then (nodejs/node#64500).
 */
function startSource(file: URL, options: WorkerOptions): Worker {
  bundled ??= bundle(file);
  return new Worker(bundled, options);
}

function bundle(file: URL): URL {
  const { buildSync } = createRequire(here)("esbuild") as Bundler;
  const { outputFiles } = buildSync({
    ...{ entryPoints: [fileURLToPath(file)], bundle: true, write: false, sourcemap: "inline" },
    ...{ platform: "node", format: "esm", conditions: ["@reporthook/source"] },
    define: { "import.meta.url": JSON.stringify(file.href) },
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  return new URL(`data:text/javascript;base64,${code}`);
}
