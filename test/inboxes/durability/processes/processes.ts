import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { notification, post } from "../serve.ts";

/** A process that serves an inbox. */
export interface Process {
  readonly url: string;
  /** Why the inbox can't be used. */
  readonly error: string | undefined;
  readonly handled: readonly string[];
  readonly isGone: () => boolean;
  close(): Promise<void>;
}

/** Starts one, which also works on deliveries if `works`; it ends with the test. */
export async function start(path: string, works: boolean): Promise<Process> {
  const file = fileURLToPath(new URL("damaged-process.ts", import.meta.url));
  const child = fork(file, [path, works ? "works" : ""], {
    execArgv: ["--conditions=@reporthook/source", "--import", "tsx"],
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const handled: string[] = [];
  const started = await new Promise<{ url: string; error?: string }>((resolve, reject) => {
    child.on("message", (message: { handled?: string; url: string }) => {
      if (message.handled === undefined) resolve(message);
      else handled.push(message.handled);
    });
    child.once("exit", reject);
  });
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return {
    ...{ url: started.url, error: started.error, handled, isGone },
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
