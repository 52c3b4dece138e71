// Runs before a script, and every Node can read it: refuses an old Node and other package managers, and installs the packages
// unless they are there. pnpm would install them by itself, and list each.
var found = process.versions.node;
var version = found.split(".").map(Number);
var isOld = version[0] < 20 || (version[0] === 20 && version[1] < 19);
var isPnpm = (process.env.npm_config_user_agent || "").indexOf("pnpm/") === 0;
var command = ["npx --yes pnpm@10", process.env.npm_lifecycle_event].join(" ");

if (isOld) {
  refuse(["This repository needs Node 20.19 or later, not", found, "– with that, run"].join(" "));
}
if (!isPnpm) refuse("This repository uses pnpm. Run");
install();

function refuse(why) {
  console.error(["", [why, command].join(": "), ""].join("\n"));
  process.exit(1);
}

function install() {
  const { spawnSync } = require("node:child_process");
  const { existsSync, statSync } = require("node:fs");
  const changedMs = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0);
  // An installation that was broken off has packages, and did not come to its last step.
  const isWhole = existsSync("packages/dashboard/src/page.generated.ts");
  if (isWhole && changedMs("pnpm-lock.yaml") <= changedMs("node_modules/.modules.yaml")) return;
  console.error("\nInstalling the packages first, which takes less than a minute.");
  const pnpm = [process.env.npm_execpath, "install", "--loglevel", "warn"];
  const { status } = spawnSync(process.execPath, pnpm, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
