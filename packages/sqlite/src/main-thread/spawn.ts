import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";
import { ReporthookError } from "@reporthook/core";
import { here, requireOf } from "../module-url.ts";

const fromSource = here.endsWith(".ts");

/**
 * Checks that the file of the thread exists.
 *
 * @throws {ReporthookError} `inbox_failed`, when a bundler or a file tracer left it behind
 */
export function checkThread(): void {
  if (fromSource) return;
  if (here !== "" && existsSync(threadFile())) return;
  throw new ReporthookError(
    "inbox_failed",
    /\/sqlite\/dist\/(esm|cjs)\/[^/]+$/.test(here)
      ? `${threadFile()} is missing: what copied @reporthook/sqlite left it behind. Have the whole package copied (in Next.js: outputFileTracingIncludes)`
      : `@reporthook/sqlite was bundled${here && ` into ${here}`}, and the file of its thread was left behind. Keep the package out of the bundle, as external (in Next.js: serverExternalPackages)`,
  );
}

/** Starts the writer as a worker thread. */
export function startThread(workerData: unknown): Worker {
  checkThread();
  const options: WorkerOptions = { name: "reporthook-sqlite", workerData, ...surroundings() };
  return new Worker(fromSource ? sourceThread() : threadFile(), options);
}

/** The file of the thread, in a form that bundlers and file tracers recognize: they copy it, and it needs no other file. */
function threadFile(): URL {
  return new URL("../writer-thread.cjs", import.meta.url);
}

/**
 * The options of the process, without those that would break the thread, such as an agent that listens on a port (`--import`,
 * also in `NODE_OPTIONS`). Yarn's Plug'n'Play stays: it resolves the modules.
 */
function surroundings(): WorkerOptions {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const isPlugged = process.versions["pnp"] !== undefined;
  return { env, execArgv: isPlugged ? ["--require", requireOf(here).resolve("pnpapi")] : [] };
}

/** The part of esbuild, which the workspace has, that is used here. */
interface Bundler {
  buildSync(options: object): {
    readonly outputFiles: readonly [{ readonly contents: Uint8Array }];
  };
}

let bundled: URL | undefined;

/**
 * The thread from TypeScript files, also those of our other packages, so that the workspace needs no build. They are bundled here:
 * in the thread a loader would run WebAssembly, which sometimes crashes V8 (nodejs/node#64500).
 */
function sourceThread(): URL {
  if (bundled !== undefined) return bundled;
  const file = new URL("./writer-thread.ts", here);
  const { buildSync } = requireOf(here)("esbuild") as Bundler;
  const { outputFiles } = buildSync({
    ...{ entryPoints: [fileURLToPath(file)], bundle: true, write: false },
    ...{ platform: "node", format: "esm", conditions: ["@reporthook/source"] },
    define: { "import.meta.url": JSON.stringify(file.href) },
  });
  const code = Buffer.from(outputFiles[0].contents).toString("base64");
  bundled = new URL(`data:text/javascript;base64,${code}`);
  return bundled;
}
