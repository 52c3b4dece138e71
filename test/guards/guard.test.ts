import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { testWith } from "@reporthook/test-support/needs";
import { expect, test } from "vitest";

const guard = fileURLToPath(new URL("../../scripts/guard.cjs", import.meta.url));

/** Says that it is another version. */
const as = (version: string): string =>
  `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} });`;

function run(node: string, args: readonly string[], more: Record<string, string> = {}) {
  const env = { ...process.env, ...more };
  const { status, stderr } = spawnSync(node, args, { env, encoding: "utf8" });
  return [status, stderr];
}

function guarded(task: string, agent: string, version = process.versions.node) {
  const env = { npm_lifecycle_event: task, npm_config_user_agent: agent };
  const script = `${as(version)} require(${JSON.stringify(guard)})`;
  return run(process.execPath, ["--eval", script], env);
}

test.each(["20.19.0", "24.1.0"])("the guard lets pnpm on Node %s go on", (version) => {
  expect(guarded("test", "pnpm/10.26.0 npm/? node/v24", version)).toEqual([0, ""]);
});

test.each(["start", "test"])("the guard tells npm %s the command to type", (task) => {
  const said = `\nThis repository uses pnpm. Run: npx --yes pnpm@10 ${task}\n\n`;
  expect(guarded(task, "npm/10.0.0 node/v24")).toEqual([1, said]);
});

const read = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), "utf8");
const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };

test("package.json has at most 14 scripts, each with a line in CONTRIBUTING.md", () => {
  const [, commands = ""] = read("CONTRIBUTING.md").split("```");
  const described = [...commands.matchAll(/^npx --yes pnpm@10 (?:-s )?(\S+)/gm)];
  const names = described.map(([, name]) => name).filter((name) => name !== "install");
  expect(names.sort()).toEqual(Object.keys(scripts).sort());
  expect(names.length).toBeLessThanOrEqual(14);
});

test("the commands that run first in a fresh clone install the packages", () => {
  const named = [...read("README.md").matchAll(/pnpm@10 (?:-s )?([\w:]+)/g)].map(
    ([, name = ""]) => name,
  );
  expect(new Set(named)).toEqual(new Set(["start", "pack:all", "reporthook"]));
  for (const name of [...named, "test", "test:all", "check"]) {
    expect([name, scripts[name]]).toEqual([
      name,
      expect.stringMatching(/^node scripts\/guard\.cjs && /),
    ]);
  }
});

test.each(["20.18.3", "18.20.0", "8.1.0"])("the guard refuses Node %s and says why", (version) => {
  const said = `\nThis repository needs Node 20.19 or later, not ${version} – with that, run: npx --yes pnpm@10 test\n\n`;
  expect(guarded("test", "pnpm/10.26.0", version)).toEqual([1, said]);
});

const fromSource = ["--conditions=@reporthook/source", "--import", "tsx", "--input-type=module"];
const programs = [
  ["packages/core/src/index.ts", "@reporthook/core needs Node 20.19 or later, not 18."],
  ["packages/cli/src/main.ts", "reporthook needs Node 20.19 or later, not 18."],
] as const;

test.each(programs)("the entry %s tells an older Node which it must be", (file, said) => {
  const url = JSON.stringify(new URL(`../../${file}`, import.meta.url));
  const args = [...fromSource, "--eval", `${as("18.20.4")} await import(${url});`];
  expect(run(process.execPath, args)).toEqual([1, expect.stringContaining(said)]);
});

/** The Node 18 of the registry. */
function node18(): string | null {
  const get = ["--yes", "--package", "node@18", "--", "node", "-p", "process.execPath"];
  const env = { ...process.env, npm_config_fetch_retries: "0" };
  const { status, stdout } = spawnSync("npx", get, { env, encoding: "utf8", timeout: 120_000 });
  return status === 0 ? stdout.trim() : null;
}
const real = node18();
const missing = real === null ? "no Node 18 from the registry" : null;

testWith(missing)("a real Node 18 is told so by the clone, core and the command line", async () => {
  const env = { npm_config_user_agent: "pnpm/10.26.0" };
  for (const task of ["start", "test"]) {
    const answer = run(real ?? "", [guard], { ...env, npm_lifecycle_event: task });
    const said = `needs Node 20\\.19 or later, not 18\\..* run: npx --yes pnpm@10 ${task}\n\n$`;
    expect(answer).toEqual([1, expect.stringMatching(new RegExp(said))]);
  }
  for (const [file, said] of programs) {
    const url = JSON.stringify(new URL(`../../${file}`, import.meta.url));
    const answer = run(real ?? "", [...fromSource, "--eval", `await import(${url});`]);
    expect(answer).toEqual([1, expect.stringContaining(said)]);
  }
});

const lock = "pnpm-lock.yaml";
const packages = "node_modules/.modules.yaml";
const page = "packages/dashboard/src/page.generated.ts";

test.each([
  ["a clone", { [lock]: 2 }, "install --loglevel warn\n"],
  [
    "one whose packages are older",
    { [lock]: 2, [packages]: 1, [page]: 1 },
    "install --loglevel warn\n",
  ],
  [
    "one whose installation was broken off",
    { [lock]: 1, [packages]: 2 },
    "install --loglevel warn\n",
  ],
  ["one that has all", { [lock]: 1, [packages]: 2, [page]: 2 }, ""],
])("the guard installs before a script what it needs: %s", (_, files, expected) => {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-installed-"));
  for (const [name, changed] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
    utimesSync(file, changed, changed);
  }
  const pnpm = join(folder, "pnpm.cjs");
  writeFileSync(pnpm, "console.log(...process.argv.slice(2));");
  const { stdout } = spawnSync(process.execPath, [guard], {
    cwd: folder,
    env: { npm_execpath: pnpm, npm_config_user_agent: "pnpm/10.26.0" },
    encoding: "utf8",
  });
  expect(stdout).toBe(expected);
});
