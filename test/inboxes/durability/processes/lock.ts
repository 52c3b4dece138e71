import { fork } from "node:child_process";
import { once } from "node:events";
import { programOf } from "@reporthook/test-support/program";
import { onTestFinished } from "vitest";

/** Another process that can hold the lock of a file. */
export interface LockHolder {
  hold(): Promise<void>;
  release(): Promise<void>;
}

/** Starts one; it ends with the test. */
export async function startLockHolder(path: string): Promise<LockHolder> {
  const file = await programOf(new URL("lock-holder.ts", import.meta.url));
  const child = fork(file, [path]);
  onTestFinished(() => void child.kill());
  await once(child, "message");
  const tell = async (what: string): Promise<void> => {
    child.send(what);
    await once(child, "message");
  };
  return { hold: () => tell("hold"), release: () => tell("release") };
}
