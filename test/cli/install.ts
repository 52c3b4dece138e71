import { execFile } from "node:child_process";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../..", import.meta.url));
// In this order: a build reads the builds of what it imports.
const built = ["core", "emulator", "sqlite", "bullmq", "dashboard", "cli"];
// Who wants queues installs them, too.
const needed = built.filter((name) => name !== "bullmq");
const noScripts = ["--config.ignore-scripts=true"];

/** A folder in which somebody has run `npm install reporthook`. */
export interface Installed {
  readonly folder: string;
  /** The program's file. */
  readonly program: string;
}

/** Builds the packages, packs them as they would be published, and installs the tarballs in an empty folder. */
export async function installCli(): Promise<Installed> {
  const folder = await mkdtemp(join(tmpdir(), "reporthook-cli-"));
  const PATH = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  const run = async (command: string, args: readonly string[], cwd: string): Promise<void> => {
    await promisify(execFile)(command, args, { cwd, env: { ...process.env, PATH } });
  };
  const pnpm = (args: readonly string[], cwd: string): Promise<void> =>
    run("npx", ["--yes", "pnpm@10", ...args], cwd);

  const folderOf = (name: string): string => join(root, "packages", name);
  for (const name of built) await run("node", [join(root, "scripts/build.mjs")], folderOf(name));
  const folders = needed.map(folderOf);
  const tarballs = needed.map((name) => join(folder, `${name}.tgz`));
  await Promise.all(
    folders.map((cwd, index) => pnpm([...noScripts, "pack", "--out", tarballs[index] ?? ""], cwd)),
  );

  const files = needed.map((name, index) => [nameOf(name), `file:${tarballs[index]}`] as const);
  const { reporthook = "", ...overrides } = Object.fromEntries(files);
  const manifest = { private: true, dependencies: { reporthook } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  // So that our packages find each other's tarballs and not the registry.
  const workspace = { overrides, autoInstallPeers: false };
  await writeFile(join(folder, "pnpm-workspace.yaml"), JSON.stringify(workspace));
  await pnpm(["install", "--prefer-offline", "--ignore-scripts"], folder);
  return { folder, program: join(folder, "node_modules/reporthook/dist/esm/main.js") };
}

function nameOf(folder: string): string {
  return folder === "cli" ? "reporthook" : `@reporthook/${folder}`;
}
