import { fork } from "node:child_process";
import { once } from "node:events";
import { programOf } from "@reporthook/test-support/program";
import { onTestFinished } from "vitest";
import { notification, post } from "../serve.ts";

/** A process that serves an inbox. */
export interface Process {
  readonly url: string;
  /** Why the inbox can't be used. */
  readonly error: string | undefined;
  readonly handled: readonly string[];
  readonly isGone: () => boolean;
  /** Whether its health is `ready`; null once it has ended. */
  isReady(): Promise<boolean | null>;
  close(): Promise<void>;
}

const file = await programOf(new URL("damaged-process.ts", import.meta.url));

/** Starts one, which also works on deliveries if `works`; it ends with the test. */
export async function start(path: string, works: boolean): Promise<Process> {
  const child = fork(file, [path, works ? "works" : ""], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const handled: string[] = [];
  const started = await new Promise<{ url: string; error: string | undefined }>(
    (resolve, reject) => {
      child.on("message", (message: { handled?: string; url?: string; error?: string }) => {
        const { handled: id, url, error } = message;
        if (id !== undefined) handled.push(id);
        else if (url !== undefined) resolve({ url, error });
      });
      child.once("exit", reject);
    },
  );
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    url: started.url,
    error: started.error,
    handled,
    isGone,
    isReady: () =>
      new Promise((resolve) => {
        const end = (ready: boolean | null): void => {
          child.off("message", look).off("exit", ended);
          resolve(ready);
        };
        const look = ({ ready }: { ready?: boolean }): void => {
          if (ready !== undefined) end(ready);
        };
        const ended = (): void => end(null);
        child.on("message", look).once("exit", ended);
        if (isGone()) ended();
        // A process that has just ended takes none.
        else child.send("health", () => {});
      }),
    async close() {
      if (isGone()) return;
      const exited = once(child, "exit");
      child.send("close");
      await exited;
    },
  };
}

/** Sends one to each process, again and again; resolves to the ids that were acknowledged. */
export async function sendAll(processes: readonly Process[], rounds: number): Promise<string[]> {
  const ids: string[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const { url, isGone } of processes) {
      // A process that has ended refuses, too.
      const answer = isGone() ? null : await post(url, notification(3_000)).catch(() => null);
      if (answer?.status === 200) ids.push(answer.id);
    }
  }
  return ids;
}
