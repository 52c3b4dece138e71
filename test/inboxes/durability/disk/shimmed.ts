import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Health } from "@reporthook/core";
import { run } from "@reporthook/test-support/needs";
import { programOf } from "@reporthook/test-support/program";
import { onTestFinished } from "vitest";
import type { Line, ServeOptions } from "../serve.ts";
import { answerRecord } from "./power-cut.ts";

const server = await programOf(new URL("shimmed-server.ts", import.meta.url));
const source = fileURLToPath(new URL("shim.c", import.meta.url));

/** The answers of a server, by question. */
interface Answers {
  readonly health: Health;
  readonly waiting: number;
  readonly lines: Line[];
  readonly handled: string[];
  readonly memory: number;
  readonly closing: string | undefined;
  readonly close: undefined;
}

/** A server whose syncs and writes go as they are told to. */
export interface Shimmed {
  readonly url: string;
  ask<What extends keyof Answers>(what: What): Promise<Answers[What]>;
  kill(): Promise<void>;
}

/** A folder for an inbox, the orders for the shim, and the trace of what it saw. */
export class Site {
  readonly path: string;
  readonly trace: string;
  readonly #folder: string;
  readonly #root: string;

  constructor(root: string, name: string) {
    this.#root = root;
    this.#folder = join(root, name);
    mkdirSync(this.#folder);
    this.path = join(this.#folder, "inbox.db");
    this.trace = join(this.#folder, "trace");
    writeFileSync(this.trace, "");
  }

  /** How syncs and writes go from now on. */
  order(
    orders:
      | "hold"
      | { readonly syncMs?: number; readonly syncFails?: number; readonly writeFails?: number },
  ): void {
    const { syncMs = 0, syncFails = 0, writeFails = 0 } = orders === "hold" ? {} : orders;
    const draft = join(this.#folder, "control.draft");
    writeFileSync(draft, orders === "hold" ? "hold" : `${syncMs} ${syncFails} ${writeFails}`);
    // In one step: the shim reads it at any time.
    renameSync(draft, join(this.#folder, "control"));
  }

  /** The variables that load the shim into a program. */
  env(): Record<string, string> {
    return { LD_PRELOAD: compiled(this.#root), SHIM_ROOT: this.#root };
  }

  /** Notes in the trace that a delivery was acknowledged. */
  acknowledged(id: string): void {
    appendFileSync(this.trace, answerRecord(id));
  }

  /** Starts a server on the file, with the shim. */
  async start(options: Omit<ServeOptions, "handle"> = { ackMs: 4_000 }): Promise<Shimmed> {
    const child = fork(server, [this.path, JSON.stringify(options)], {
      env: { ...process.env, ...this.env() },
      serialization: "advanced",
    });
    const ended = once(child, "exit");
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await ended;
    };
    onTestFinished(kill);
    const [url] = (await Promise.race([
      once(child, "message"),
      ended.then(() => Promise.reject(new Error("The server ended before it listened"))),
    ])) as [string];
    return {
      url,
      kill,
      async ask(what) {
        const answered = new Promise((resolve) => {
          const listen = (message: { what: string; answer: unknown }): void => {
            if (message.what !== what) return;
            child.off("message", listen);
            resolve(message.answer);
          };
          child.on("message", listen);
        });
        child.send(what);
        const answer = await answered;
        if (what === "close") await ended;
        return answer as Answers[typeof what];
      },
    };
  }
}

function compiled(root: string): string {
  const shim = join(root, "shim.so");
  if (!existsSync(shim)) {
    run("gcc", "-O1", "-shared", "-fPIC", "-o", shim, source, "-ldl");
  }
  return shim;
}
