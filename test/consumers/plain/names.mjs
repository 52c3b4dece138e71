// Every entry exports the same names to ESM and CommonJS.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const entries = JSON.parse(readFileSync("../entries.json", "utf8"));
const names = {};
for (const entry of entries) names[entry] = Object.keys(await import(entry)).sort();

const program = `console.log(JSON.stringify(Object.fromEntries(
  ${JSON.stringify(entries)}.map((entry) => [entry, Object.keys(require(entry)).sort()]))))`;
// Without the flag, the condition "module-sync" leads require() to the ESM build.
for (const flags of [[], ["--no-experimental-require-module"]]) {
  const required = execFileSync("node", [...flags, "-e", program], { encoding: "utf8" }).trim();
  if (required === JSON.stringify(names)) continue;
  throw new Error(`CommonJS exports other names:\n${required}\n${JSON.stringify(names)}`);
}
for (const [entry, list] of Object.entries(names)) console.log(`${entry}: ${list.join(", ")}`);
