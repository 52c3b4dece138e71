import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { here } from "./here.ts";

/** Starts the file `engine-thread` beside this one as a worker thread, with none of the hooks the process was started with. */
export function startThread(workerData: unknown): Worker {
  const fromSource = here.endsWith(".ts");
  const file = new URL(fromSource ? "./engine-thread.ts" : "./engine-thread.js", here);
  return new Worker(file, {
    name: "reporthook-sqlite",
    workerData,
    execArgv: fromSource ? sourceArguments() : [],
  });
}

function sourceArguments(): string[] {
  const conditions = "--conditions=@reporthook/source";
  const stripsTypes = Boolean((process.features as { typescript?: unknown }).typescript);
  if (stripsTypes) return [conditions];
  return [conditions, "--import", pathToFileURL(createRequire(here).resolve("tsx")).href];
}
