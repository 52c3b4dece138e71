import { Worker, type WorkerOptions } from "node:worker_threads";
import type { ReporthookError } from "@reporthook/core";
import { describe } from "@reporthook/core/store";
import { inboxFailed } from "../database/driver.ts";
import { findInstalled } from "../database/installed.ts";
import type { ThreadOptions } from "../protocol/protocol.ts";
import { threadCode } from "../thread-code.ts";

/** Starts the writer as a worker thread, from code that is part of this package: a bundle needs no file beside it. */
export function startThread(workerData: ThreadOptions): Worker {
  return new Worker(threadCode(), {
    name: "reporthook-sqlite",
    eval: true,
    workerData,
    // Node would close the descriptors of a thread that ends, and drop the locks of other inboxes on the file.
    trackUnmanagedFds: false,
    ...surroundings(),
  });
}

/**
 * The options of the process, without those that would break the thread, such as an agent that listens on a port (`--import`,
 * also in `NODE_OPTIONS`). Yarn's Plug'n'Play stays: it resolves the modules.
 */
function surroundings(): WorkerOptions {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const isPlugged = process.versions["pnp"] !== undefined;
  const plug = isPlugged ? findInstalled("pnpapi")?.file : undefined;
  return { env, execArgv: plug === undefined ? [] : ["--require", plug] };
}

/** The error of a thread that can't be started. */
export function threadNotStarted(cause: unknown): ReporthookError {
  const isDenied = (cause as { readonly code?: unknown } | null)?.code === "ERR_ACCESS_DENIED";
  const words = describe(cause);
  const way = "start Node with --allow-worker, or without its permission model";
  const why = isDenied ? `${way} (${words})` : words;
  return inboxFailed(`The inbox's thread can't be started: ${why}`, cause);
}

/** The error of a thread that has failed. */
export function threadFailed(cause: unknown): ReporthookError {
  // Node asks for it in each new thread.
  const text = describe(cause);
  const why = text.includes("uv_cwd")
    ? "the working directory was removed: restart the app in one that stays"
    : text;
  return inboxFailed(`The inbox's thread failed: ${why}`, cause);
}
