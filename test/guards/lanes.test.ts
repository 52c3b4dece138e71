import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const vitest = join(root, "node_modules/vitest/vitest.mjs");

/** The files that a run of vitest in a lane would take. */
function filesOf(lane: string): string[] {
  const env = { ...process.env, TEST_LANE: lane };
  const list = [vitest, "list", "--filesOnly", "--json"];
  const { stdout, stderr } = spawnSync(process.execPath, list, {
    cwd: root,
    env,
    encoding: "utf8",
  });
  if (!stdout.startsWith("[")) throw new Error(stdout + stderr);
  return JSON.parse(stdout).map(({ file }: { file: string }) => file);
}

test("the quick lane and the rest have all files of tests, the rest also those that are shorter in the quick one", () => {
  const [quick, rest, all] = [filesOf("quick"), filesOf("rest"), filesOf("all")];
  expect([...new Set([...quick, ...rest])].sort()).toEqual(all.toSorted());
  const depends = /\b(?:isQuick|isRest)\b/;
  const own = fileURLToPath(import.meta.url);
  const shorter = all.filter((file) => file !== own && depends.test(readFileSync(file, "utf8")));
  expect(quick.filter((file) => rest.includes(file)).sort()).toEqual(shorter.sort());
  expect(rest.length).toBeLessThan(quick.length);
});
