// Runs before anything else, and every Node can read it.
var task = process.env.npm_lifecycle_event || "install";
var agent = process.env.npm_config_user_agent || "";
var command = ["npx --yes pnpm@10", task === "preinstall" ? "install" : task].join(" ");
var found = process.versions.node;
var version = found.split(".").map(Number);
var isOld = version[0] < 20 || (version[0] === 20 && version[1] < 19);

function refuse(why) {
  console.error(["", [why, command].join(": "), ""].join("\n"));
  process.exit(1);
}

if (isOld) {
  refuse(["This repository needs Node 20.19 or later, not", found, "– with that, run"].join(" "));
}
// npm ignores pnpm-workspace.yaml and would leave the workspace unlinked.
if (agent.indexOf("pnpm/") !== 0) refuse("This repository uses pnpm. Run");

if (task !== "preinstall") require("./installed.cjs");
