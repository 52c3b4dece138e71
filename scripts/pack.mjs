import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";
import { promisify } from "node:util";
import { linksOf, packedReadme } from "./pack-readme.mjs";

const root = resolve(import.meta.dirname, "..");

// For what hangs: an install from a slow registry takes a minute.
const maxMs = 600_000;

/** Runs a command; resolves to what it prints, and rejects with all of it when it fails. */
export async function run(command, args, options) {
  try {
    const limits = { maxBuffer: 2 ** 26, timeout: maxMs };
    return (await promisify(execFile)(command, args, { ...limits, ...options })).stdout;
  } catch (error) {
    const why = error.killed ? `ended after ${maxMs / 1_000} s` : "";
    throw new Error([command, ...args, why, "\n", error.stdout, error.stderr].join(" "));
  }
}

/** Packs every public package as it would be published into `folder`; resolves to what is known of each. */
export async function packAll(folder) {
  return (await Promise.all(readdirSync(join(root, "packages")).map((name) => pack(name)))).flat();

  async function pack(name) {
    const cwd = join(root, "packages", name);
    const manifest = JSON.parse(readFileSync(join(cwd, "package.json")));
    if (manifest.private) return [];
    const packed = await run(
      "pnpm",
      ["--config.ignore-scripts=true", "pack", "--json", "--pack-destination", folder],
      { cwd },
    );
    const tarball = JSON.parse(packed).filename;
    await replaceReadme(tarball, name);
    const { version, dependencies = {} } = manifest;
    const entries = Object.keys(manifest.exports).filter((entry) => entry !== "./package.json");
    return [
      {
        name: manifest.name,
        version,
        /** Those of ours that it depends on. */
        needs: Object.keys(dependencies).filter((other) => other.startsWith("@reporthook/")),
        tarball,
        entries: entries.map((entry) => manifest.name + entry.slice(1)),
      },
    ];
  }
}

/** The files of a tarball, by their paths in the package. */
async function filesIn(tarball) {
  const listed = await run("tar", ["-tzf", tarball]);
  return new Set(listed.split("\n").map((path) => path.replace(/^package\//, "")));
}

async function replaceReadme(tarball, name) {
  const files = await filesIn(tarball);
  const folder = mkdtempSync(`${tarball}-`);
  try {
    await run("tar", ["-xzf", tarball, "-C", folder]);
    const file = join(folder, "package", "README.md");
    const readme = readFileSync(file, "utf8");
    writeFileSync(
      file,
      packedReadme(readme, name, (path) => files.has(path)),
    );
    await run("tar", ["-czf", tarball, "-C", folder, "package"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Rejects when a link of a README leads nowhere, or when publint or attw finds anything in a tarball. */
export async function lint({ tarball, entries }) {
  const files = await filesIn(tarball);
  const readme = await run("tar", ["-xzOf", tarball, "package/README.md"]);
  const dead = linksOf(readme).filter((target) => !files.has(posix.normalize(target)));
  if (dead.length > 0) throw new Error(`${tarball}: README.md links to ${dead.join(", ")}`);
  await run("publint", ["run", tarball, "--strict"]);
  // A program has nothing to import.
  if (entries.length === 0) return;
  await run("attw", [tarball, "--profile", "strict", "--format", "ascii", "--no-emoji"]);
}
