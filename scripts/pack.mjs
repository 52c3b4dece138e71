import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { strayFiles } from "./pack-files.mjs";
import { linksOf, packedMarkdown, placeInCore } from "./pack-links.mjs";

const root = resolve(import.meta.dirname, "..");
/** The address of the repository, as `https://github.com/OWNER/reporthook`, in the package.json of the workspace; undefined until there is one. */
export const { repository } = JSON.parse(readFileSync(join(root, "package.json")));

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
  const names = readdirSync(join(root, "packages"));
  const packages = (await Promise.all(names.map((name) => pack(name, folder)))).flat();
  const all = new Map(packages.map((one) => [one.name, one]));
  await Promise.all(packages.map((one) => complete(one, all)));
  return packages;
}

async function pack(name, folder) {
  const cwd = join(root, "packages", name);
  const manifest = JSON.parse(readFileSync(join(cwd, "package.json")));
  if (manifest.private) return [];
  const packed = await run(
    "pnpm",
    ["--config.ignore-scripts=true", "pack", "--json", "--pack-destination", folder],
    { cwd },
  );
  const { filename: tarball, files } = JSON.parse(packed);
  const { version, dependencies = {} } = manifest;
  const entries = Object.keys(manifest.publishConfig.exports ?? {}).filter(
    (entry) => entry !== "./package.json",
  );
  const isCore = manifest.name === "@reporthook/core";
  const docs = isCore ? docsOfCore() : [];
  return [
    {
      name: manifest.name,
      version,
      /** Our other packages that it depends on. */
      needs: Object.keys(dependencies).filter((other) => other.startsWith("@reporthook/")),
      tarball,
      folder: `packages/${name}`,
      files: new Set([...files.map(({ path }) => path), ...docs.map(({ place }) => place)]),
      /** The Markdown that it carries: its place in the package, and in the repository. */
      markdown: [{ place: "README.md", path: `packages/${name}/README.md` }, ...docs],
      entries: entries.map((entry) => manifest.name + entry.slice(1)),
    },
  ];
}

function docsOfCore() {
  const paths = readdirSync(join(root, "docs")).map((name) => `docs/${name}`);
  return ["README.md", "SECURITY.md", "CHANGELOG.md", ...paths].flatMap((path) => {
    const place = placeInCore(path);
    return place === undefined ? [] : [{ place, path }];
  });
}

/** Tells whether a path below `node_modules` is there wherever `one` is installed. */
function beside(one, all) {
  return (path) =>
    [one.name, ...one.needs].some(
      (name) => path.startsWith(`${name}/`) && all.get(name).files.has(path.slice(name.length + 1)),
    );
}

/** Puts the docs, and where the repository is, into a tarball. */
async function complete(one, all) {
  const { tarball, markdown } = one;
  const folder = mkdtempSync(`${tarball}-`);
  try {
    await run("tar", ["-xzf", tarball, "-C", folder]);
    for (const { place, path } of markdown) {
      const file = join(folder, "package", place);
      mkdirSync(dirname(file), { recursive: true });
      const text = readFileSync(join(root, path), "utf8");
      writeFileSync(file, packedMarkdown(text, path, beside(one, all), repository));
    }
    const file = join(folder, "package/package.json");
    const manifest = { ...JSON.parse(readFileSync(file)), ...linksOfRepository(one.folder) };
    writeFileSync(file, JSON.stringify(manifest, null, 2));
    // In pnpm's order, in which twins stand side by side: so it is a sixth smaller.
    const packed = (await run("tar", ["-tzf", tarball])).trim().split("\n");
    const files = new Set([...packed, ...markdown.map(({ place }) => `package/${place}`)]);
    await run("tar", ["-czf", tarball, "-C", folder, ...files]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function linksOfRepository(directory) {
  if (repository === undefined) return {};
  return {
    repository: { type: "git", url: `git+${repository}.git`, directory },
    homepage: `${repository}#readme`,
    bugs: `${repository}/issues`,
  };
}

/** Rejects when a link of an installed package leads nowhere: `modules` is the `node_modules` that it is in. */
export function lintLinks({ name, markdown }, modules) {
  const dead = markdown.flatMap(({ place }) => {
    const file = join(modules, name, place);
    const targets = linksOf(readFileSync(file, "utf8"));
    return targets
      .filter((target) => !existsSync(join(dirname(file), target)))
      .map((target) => `${name}/${place}: ${target}`);
  });
  if (dead.length > 0) throw new Error(`Links that lead nowhere:\n${dead.join("\n")}`);
}

/** Rejects when publint or attw finds anything in a tarball, or a file is in it by mistake. */
export async function lint(one) {
  const { name, tarball, entries } = one;
  const stray = strayFiles(one);
  if (stray.length > 0) throw new Error(`${name} carries stray files:\n${stray.join("\n")}`);
  await run("publint", ["run", tarball, "--strict"]);
  // A program has nothing to import.
  if (entries.length === 0) return;
  await run("attw", [tarball, "--profile", "strict", "--format", "ascii", "--no-emoji"]);
}
