// Builds every public package and packs it into a folder, for a project of one's own before they are published.
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { packAll, run } from "./pack.mjs";

const root = resolve(import.meta.dirname, "..");
const [given, ...more] = process.argv.slice(2);

/** A path as a shell takes it. */
const quoted = (path) => (/^[\w./@+-]+$/.test(path) ? path : `"${path}"`);

/** The command that installs some packages: their tarballs, and those of the packages of ours that they need. */
function installLine(packages, names) {
  const wanted = new Set();
  const want = (name) => {
    if (wanted.has(name)) return;
    wanted.add(name);
    for (const other of packages.find((one) => one.name === name).needs) want(other);
  };
  for (const name of names) want(name);
  const tarballs = packages.flatMap(({ name, tarball }) =>
    wanted.has(name) ? [quoted(tarball)] : [],
  );
  return `npm install ${tarballs.join(" \\\n    ")}`;
}

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
  const app = ["@reporthook/core", "@reporthook/sqlite", "@reporthook/express"];
  const engine = process.getBuiltinModule("node:sqlite") === undefined ? " libsql" : "";
  console.log(`
${packages.length} tarballs are in ${folder}. Install in your project what you use, for instance for Express
with an inbox in a file:

  ${installLine(packages, app)} express${engine}

and the command line, npx reporthook:

  ${installLine(packages, ["reporthook"])}
`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
