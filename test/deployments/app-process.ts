import { type ChildProcess, fork } from "node:child_process";
import cluster from "node:cluster";
import { programOf } from "@reporthook/test-support/program";
import type { AppOptions, Told } from "./app.ts";

const file = await programOf(new URL("app.ts", import.meta.url));
/** Milliseconds after which a process that does not end is killed; none needs them, on the slowest machine. */
const killMs = 60_000;

/** How a process ended that was told to. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Milliseconds from the signal to its end. */
  readonly ms: number;
}

/** An app in a separate process, by itself or in a cluster whose primary is the test. */
export class AppProcess {
  readonly options: AppOptions;
  readonly #child: ChildProcess;
  readonly #ended: Promise<Omit<Ended, "ms">>;
  readonly #told = new Set<Told>();
  #output = "";

  constructor(options: AppOptions, inCluster: boolean) {
    this.options = options;
    const env = { DEPLOYED_APP: JSON.stringify(options), NODE_OPTIONS: "" };
    const stdio = ["ignore", "pipe", "pipe", "ipc"] as const;
    if (inCluster) {
      cluster.setupPrimary({ exec: file, args: [], stdio: [...stdio] });
      this.#child = cluster.fork(env).process;
    } else {
      this.#child = fork(file, [], {
        stdio: [...stdio],
        env: { ...process.env, ...env },
      });
    }
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output = (this.#output + text).slice(-4_000);
      });
    }
    this.#child.on("message", (message) => this.#told.add(message as Told));
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => resolve({ code, signal }));
    });
  }

  /** The last that it wrote. */
  get output(): string {
    return this.#output;
  }

  /** Resolves once it has told this, or if it has; rejects when it ends before. */
  told(what: Told): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.#told.has(what)) resolve();
      };
      look();
      this.#child.on("message", look);
      void this.#ended.then(({ code, signal }) =>
        reject(new Error(`The app ended with ${code ?? signal}: ${this.output}`)),
      );
    });
  }

  /** Resolves when nothing waits in its inbox. */
  async idle(): Promise<void> {
    const idle = this.told("idle");
    this.#child.send("idle?");
    await idle;
  }

  /** Tells it to end (see app.ts), calls `meanwhile` once it has begun to; resolves when it has ended. */
  async end(signal: "SIGINT" | "SIGTERM", meanwhile = (): void => {}): Promise<Ended> {
    const startedAt = performance.now();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), killMs);
    this.#child.kill(signal);
    await this.told("closing");
    meanwhile();
    const ended = await this.#ended;
    clearTimeout(timer);
    return { ...ended, ms: Math.round(performance.now() - startedAt) };
  }

  /** Ends it without ceremony. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
