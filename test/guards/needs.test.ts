import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const vitest = join(root, "node_modules/vitest/vitest.mjs");
const folder = mkdtempSync(join(root, "node_modules/.needs-"));

beforeAll(() => {
  const needs = JSON.stringify(join(root, "test/support/needs.ts"));
  const text = `import { testWith } from ${needs};\ntestWith("no such tool here")("works", async () => {});\n`;
  writeFileSync(join(folder, "one.test.ts"), text);
  writeFileSync(join(folder, "vitest.config.mjs"), "export default { test: { exclude: [] } };\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  ["skips it on a machine of somebody's", {}, "1 skipped"],
  ["skips it in pnpm test of CI", { CI: "true", TEST_LANE: "quick" }, "1 skipped"],
  [
    "fails in the quick tests of pnpm check in CI",
    { CI: "true", TEST_LANE: "quick", npm_lifecycle_event: "check" },
    "1 failed",
  ],
  ["fails in what pnpm check runs after them in CI", { CI: "true", TEST_LANE: "rest" }, "1 failed"],
  ["fails in pnpm test:all of CI", { CI: "true", TEST_LANE: "all" }, "1 failed"],
])("a test that needs a tool that is not there %s", (_, given, expected) => {
  const { PATH = "", HOME = "" } = process.env;
  const env = { PATH, HOME, NO_COLOR: "1", ...given };
  const run = [vitest, "run", "--root", folder, "--reporter", "verbose"];
  const { stdout, stderr } = spawnSync(process.execPath, run, { env, encoding: "utf8" });
  expect(stdout + stderr).toMatch(new RegExp(`Tests +${expected} \\(1\\)`));
  expect(stdout + stderr).toContain("no such tool here");
});

test("no test is skipped by other means, which no run in CI would notice", () => {
  // A test of one kind of inbox lacks no tool.
  const isSkipping =
    /\.(?:skipIf|todo)\b|\.runIf\((?!kind ===)|\b(?:it|test|describe|context)\.skip\b/;
  const own = fileURLToPath(import.meta.url);
  const files = ["packages", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /^(?!.*(?:node_modules|\bdist)\/).*\.ts$/.test(file))
      .map((file) => join(root, folder, file)),
  );
  expect(files.length).toBeGreaterThan(500);
  const skipping = files.filter(
    (file) => file !== own && isSkipping.test(readFileSync(file, "utf8")),
  );
  expect(skipping).toEqual([join(root, "test/support/needs.ts")]);
});
