import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { testWith } from "@reporthook/test-support/needs";
import { expect } from "vitest";

const notLinux = process.platform === "linux" ? null : "finding processes needs Linux";
const { endLeft } = await import(String(new URL("../../scripts/left.mjs", import.meta.url)));

testWith(notLinux)("endLeft() ends and names the processes that a run has left", async () => {
  const leader = spawn("sh", ["-c", "tail -f /dev/null & echo $!"], { detached: true });
  // It closes once the last of them has ended.
  const printed = text(leader.stdout);
  await once(leader, "exit");
  const left = await endLeft(leader.pid, 0);
  expect(left).toEqual([expect.stringMatching(`^${(await printed).trim()} .*tail -f`)]);
  expect(await endLeft(leader.pid)).toEqual([]);
});
