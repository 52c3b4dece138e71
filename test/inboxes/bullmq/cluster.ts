import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { freePort } from "@reporthook/test-support/free-port";
import { programOf } from "@reporthook/test-support/program";
import type { AppOptions } from "./app.ts";

const file = await programOf(new URL("app.ts", import.meta.url));

/** One process of the cluster, started again whenever it ends. */
interface Place {
  readonly options: AppOptions;
  child: ChildProcess;
  errors: string;
  ready: Promise<unknown>;
}

/** Web processes and workers on one inbox. */
export class Cluster {
  readonly #places: Place[] = [];
  #over = false;

  /** Where the web processes listen. */
  get urls(): string[] {
    return this.#places
      .filter(({ options }) => options.role === "web")
      .map(({ options }) => `http://127.0.0.1:${options.port}/`);
  }

  /** How many processes there are. */
  get size(): number {
    return this.#places.length;
  }

  /** The text that all processes wrote to their standard error. */
  get errors(): string {
    return this.#places.map(({ errors }) => errors).join("");
  }

  async add(role: AppOptions["role"], rest: Omit<AppOptions, "role" | "port">): Promise<void> {
    const options = { ...rest, role, port: await freePort() };
    const place = { options, errors: "" } as Place;
    this.#start(place);
    this.#places.push(place);
  }

  /** Resolves when all of them are up. */
  async ready(): Promise<void> {
    for (const { ready } of this.#places) await ready;
  }

  /** Sends a signal to one as soon as it is up; resolves when it has ended. */
  async signal(index: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const place = this.#places[index] as Place;
    await place.ready;
    const { child } = place;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** Ends all. */
  async end(): Promise<void> {
    this.#over = true;
    await Promise.all(
      this.#places.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }),
    );
  }

  #start(place: Place): void {
    if (this.#over) return;
    const child = fork(file, [], {
      env: { ...process.env, CLUSTER_APP: JSON.stringify(place.options), NODE_OPTIONS: "" },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      place.errors = (place.errors + text).slice(-4_000);
    });
    place.child = child;
    place.ready = new Promise((resolve) => {
      child.once("message", resolve);
      // One that did not come up is waited for again.
      child.once("exit", () => {
        this.#start(place);
        if (!this.#over) resolve(place.ready);
      });
    });
  }
}
