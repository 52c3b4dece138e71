import { spawn } from "node:child_process";
import { once } from "node:events";
import { testWith } from "@reporthook/test-support/needs";
import { expect } from "vitest";

const notLinux = process.platform === "linux" ? null : "finding processes needs Linux";
const { endLeft } = await import(String(new URL("../../scripts/left.mjs", import.meta.url)));

testWith(notLinux)("endLeft() ends and names the processes that a run has left", async () => {
  const leader = spawn("sh", ["-c", "tail -n 1 -f package.json & echo $!"], { detached: true });
  // It prints the file's last line once it is the program that its command line names.
  let printed = "";
  for await (const part of leader.stdout.iterator({ destroyOnReturn: false })) {
    printed += part;
    if (/\d+\n/.test(printed) && printed.includes("}")) break;
  }
  if (leader.exitCode === null) await once(leader, "exit");
  const pid = /\d+/.exec(printed)?.[0];
  expect(await endLeft(leader.pid, 0)).toEqual([
    expect.stringMatching(`^${pid} tail .*package\\.json$`),
  ]);
  expect(await endLeft(leader.pid)).toEqual([]);
});
