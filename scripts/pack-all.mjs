// Builds every public package and packs it into a folder, for a project of one's own before they are published.
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { installAdvice } from "./install-advice.mjs";
import { packAll, run } from "./pack.mjs";

const root = resolve(import.meta.dirname, "..");
const [given, ...more] = process.argv.slice(2);

try {
  if (given === undefined || given.startsWith("-") || more.length > 0) {
    throw new Error("Name one folder for the tarballs: npx --yes pnpm@10 pack:all DIR");
  }
  const folder = resolve(given);
  mkdirSync(folder, { recursive: true });
  console.log("Building all packages, which takes about half a minute …");
  await run("pnpm", ["--recursive", "build"], { cwd: root, timeout: 0 });
  console.log("Packing them …");
  const packages = await packAll(folder);
  const hasSqlite = process.getBuiltinModule("node:sqlite") !== undefined;
  console.log(installAdvice(packages, folder, hasSqlite));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
