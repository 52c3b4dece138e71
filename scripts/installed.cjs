// Installs the packages unless they are there. pnpm would do it by itself before a script, and list each of them.
const { spawnSync } = require("node:child_process");
const { existsSync, statSync } = require("node:fs");

const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
const isOld = changedMs("pnpm-lock.yaml") > changedMs("node_modules/.modules.yaml");
// An installation that was refused or broken off has packages, and did not come to its last step.
const isWhole = existsSync("packages/dashboard/src/page.generated.ts");

if (isOld || !isWhole) {
  console.error("\nInstalling the packages first, which takes less than a minute.");
  const pnpm = [process.env.npm_execpath, "install", "--loglevel", "warn"];
  const { status } = spawnSync(process.execPath, pnpm, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
