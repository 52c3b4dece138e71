// Packs every public package as it would be published, lints the tarballs, and installs them in each folder of test/consumers/,
// whose `test` uses them. Needs a build. `pack-check.mjs plain jest` runs those consumers only.
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { lint, lintLinks, packAll, run } from "./pack.mjs";

const root = resolve(import.meta.dirname, "..");
const { node } = JSON.parse(readFileSync(join(root, "package.json"))).engines;
const wanted = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "reporthook-"));
const maxKbOfCore = 330;

function write(name, content) {
  writeFileSync(join(folder, name), JSON.stringify(content));
}

async function programOf(version) {
  const wanted = ["--yes", "--prefer-offline", "--package", `node@${version}`];
  const program = await run("npx", [...wanted, "--", "node", "-p", "process.execPath"], {
    cwd: folder,
  });
  return program.trim();
}

async function install(packages) {
  cpSync(join(root, "test", "consumers"), folder, {
    recursive: true,
    filter: (file) => !file.includes("node_modules"),
  });
  write("package.json", { private: true });
  write(
    "entries.json",
    packages.flatMap(({ entries }) => entries),
  );
  write("nodes.json", await Promise.all([20, 24].map(programOf)));
  write("pnpm-workspace.yaml", {
    packages: ["*"],
    // So that our packages find each other's tarballs and not the registry.
    overrides: Object.fromEntries(packages.map((p) => [p.name, `file:${p.tarball}`])),
    autoInstallPeers: false,
    allowBuilds: { esbuild: true, "unrs-resolver": false },
    // Every package that is installed with ours has to run on the Node version that `engines` promises.
    engineStrict: true,
    nodeVersion: `${node.replace(">=", "")}.0`,
  });
  await run("pnpm", ["install", "--prefer-offline"], { cwd: folder });
}

/** Adds an app that passed to the file that docs/evidence.md is made of. */
function note(name) {
  if (!process.env.EVIDENCE) return;
  const counts = { did: { apps: 1 }, wrong: { failed: 0 } };
  const line = { kind: "consumers", ...counts, name, at: new Date(), node: process.versions.node };
  appendFileSync(process.env.EVIDENCE, `${JSON.stringify(line)}\n`);
}

try {
  const packages = await packAll(folder);
  await install(packages);
  await Promise.all(packages.map(lint));
  const kB = ({ tarball }) => Math.ceil(statSync(tarball).size / 1_000);
  console.log(
    packages.map((one) => `${one.name} ${kB(one)} kB, ${one.files.size} files`).join("\n"),
  );
  const core = packages.find(({ name }) => name === "@reporthook/core");
  if (kB(core) > maxKbOfCore) throw new Error(`core is packed over ${maxKbOfCore} kB`);
  for (const one of packages) lintLinks(one, join(folder, "plain", "node_modules"));
  console.log(`${packages.length} tarballs pass publint and attw: no stray file, no dead link`);
  const entries = readdirSync(join(root, "test", "consumers"), { withFileTypes: true });
  const consumers = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  for (const name of wanted.length > 0 ? wanted : consumers) {
    const begin = performance.now();
    const printed = await run("pnpm", ["--silent", "test"], { cwd: join(folder, name) });
    console.log(`${name} (${Math.round((performance.now() - begin) / 1_000)} s)`);
    note(name);
    if (printed !== "") console.log(printed.trimEnd().replace(/^/gm, "  "));
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
