import { fork } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Inbox } from "@reporthook/core/internals";
import { programOf } from "@reporthook/test-support/program";
import type { StandingProcess, StandstillReport } from "@reporthook/testing";
import { standStillOn } from "@reporthook/testing";

/** Starts a program that calls {@link standInProcess} with an inbox on a store; resolves when it stands still. */
export async function standingProcess(program: URL, store: string): Promise<StandingProcess> {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-standing-"));
  const [begun, over] = [join(folder, "begun"), join(folder, "over")];
  const child = fork(await programOf(program), [store, begun, over], {
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  const ended = new Promise<StandstillReport>((resolve, reject) => {
    child.once("message", (report) => resolve(report as StandstillReport));
    child.once("exit", (code) => reject(new Error(`It ended with ${code}`)));
  }).finally(() => rmSync(folder, { recursive: true }));
  ended.catch(() => {});
  while (!existsSync(begun) && child.exitCode === null) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return {
    async goOn() {
      writeFileSync(over, "");
      return ended;
    },
  };
}

/** In that program: stands still as it is told, and reports. */
export async function standInProcess(open: (store: string) => Inbox): Promise<void> {
  const [store = "", begun = "", over = ""] = process.argv.slice(2);
  // An inbox alone keeps no process alive.
  const alive = setInterval(() => {}, 60_000);
  const report = await standStillOn(
    open(store),
    () => writeFileSync(begun, ""),
    () => existsSync(over),
  );
  clearInterval(alive);
  process.send?.(report);
  process.disconnect?.();
}
