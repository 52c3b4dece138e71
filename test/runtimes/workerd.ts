import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { freePort } from "@reporthook/test-support/free-port";
import { end, launch } from "./launched.ts";

/** A Worker that runs in workerd. */
export interface RunningWorker {
  readonly url: string;
  /** Its log. */
  readonly output: NodeJS.ReadableStream;
  end(): Promise<void>;
}

/** The bindings and flags of a Worker. */
interface WorkerOptions {
  /** Of text. */
  readonly bindings?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
}

/** Runs a Worker's file of `dist`. */
export async function runWorker(
  command: readonly [string, ...string[]],
  file: string,
  options: WorkerOptions = {},
): Promise<RunningWorker> {
  const { bindings = {}, flags = [] } = options;
  const port = await freePort();
  const texts = Object.entries(bindings).map(
    ([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`,
  );
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private"]))
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "${file}")],
  bindings = [${texts.join(", ")}],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ${JSON.stringify(flags)}
);`;
  const path = fileURLToPath(new URL(`dist/${port}.capnp`, import.meta.url));
  await writeFile(path, config);
  const child = launch([...command, path], { stdio: ["ignore", "pipe", "pipe"] });
  const url = `http://127.0.0.1:${port}`;
  await listening(child, url);
  return { url, output: child.stdout as Readable, end: () => end(child) };
}

async function listening(child: ChildProcess, url: string): Promise<void> {
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`workerd ended: ${said}`);
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
