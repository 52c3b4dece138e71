import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const guard = fileURLToPath(new URL("../../scripts/guard.cjs", import.meta.url));

function guarded(task: string, agent: string, version = process.versions.node) {
  const as = `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} });`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ["--eval", `${as} require(${JSON.stringify(guard)})`],
    {
      env: { ...process.env, npm_lifecycle_event: task, npm_config_user_agent: agent },
      encoding: "utf8",
    },
  );
  return [status, stderr];
}

test.each(["20.19.0", "24.1.0"])("pnpm on Node %s may go on", (version) => {
  expect(guarded("test", "pnpm/10.26.0 npm/? node/v24", version)).toEqual([0, ""]);
});

test.each([
  ["preinstall", "install"],
  ["start", "start"],
  ["test", "test"],
])("%s by another package manager is told the command to type", (task, command) => {
  const said = `\nThis repository uses pnpm. Run: npx --yes pnpm@10 ${command}\n\n`;
  expect(guarded(task, "npm/10.0.0 node/v24")).toEqual([1, said]);
});

test.each(["20.18.3", "18.20.0", "8.1.0"])("Node %s is told which it must be", (version) => {
  const said = `\nThis repository needs Node 20.19 or later, not ${version} – with that, run: npx --yes pnpm@10 test\n\n`;
  expect(guarded("test", "pnpm/10.26.0", version)).toEqual([1, said]);
});

test.each([
  ["packages/core/src/index.ts", "@reporthook/core needs Node 20.19 or later, not 18.20.4"],
  ["packages/cli/src/main.ts", "reporthook needs Node 20.19 or later, not 18.20.4"],
])("%s tells an older Node which it must be", (file, said) => {
  const as = `Object.defineProperty(process.versions, "node", { value: "18.20.4" });`;
  const url = JSON.stringify(new URL(`../../${file}`, import.meta.url));
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      ...["--conditions=@reporthook/source", "--import", "tsx", "--input-type=module"],
      ...["--eval", `${as} await import(${url});`],
    ],
    { encoding: "utf8" },
  );
  expect([status, stderr]).toEqual([1, expect.stringContaining(said)]);
});
