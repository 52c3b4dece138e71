// Installs the packages unless they are there. pnpm would do it by itself before a script, and list each of them.
const { spawnSync } = require("node:child_process");
const { statSync } = require("node:fs");

const changedMs = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

if (changedMs("pnpm-lock.yaml") > changedMs("node_modules/.modules.yaml")) {
  console.error("\nInstalling the packages first, which takes less than a minute.");
  const pnpm = [process.env.npm_execpath, "install", "--loglevel", "warn"];
  const { status } = spawnSync(process.execPath, pnpm, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
