import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryFolder } from "@reporthook/test-support/temporary";

const root = fileURLToPath(new URL("../..", import.meta.url));
// In this order: a build reads the builds of what it imports.
const built = ["core", "emulator", "sqlite", "bullmq", "dashboard", "cli"];
// The command line depends on all but `bullmq`, which users of queues install beside it.
const needed = built.filter((name) => name !== "bullmq");
const noScripts = ["--config.ignore-scripts=true"];

/** Builds the packages, packs them as they would be published, and installs the tarballs in an empty folder; resolves to the program's file. */
export async function installCli(): Promise<string> {
  const folder = temporaryFolder();
  for (const name of built) {
    await run("node", [join(root, "scripts/build.mjs")], join(root, "packages", name));
  }
  const { reporthook = "", ...overrides } = await pack(needed, folder);
  const manifest = { private: true, dependencies: { reporthook } };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  // So that our packages find each other's tarballs and not the registry.
  const workspace = { overrides, autoInstallPeers: false };
  await writeFile(join(folder, "pnpm-workspace.yaml"), JSON.stringify(workspace));
  await pnpm(["install", "--prefer-offline", "--ignore-scripts"], folder);
  return join(folder, "node_modules/reporthook/dist/esm/main.js");
}

/** Packs what is built into `folder`; where each package is then, by its name. */
export async function pack(
  names: readonly string[],
  folder: string,
): Promise<Record<string, string>> {
  const tarball = (name: string): string => join(folder, `${name}.tgz`);
  await Promise.all(
    names.map((name) =>
      pnpm([...noScripts, "pack", "--out", tarball(name)], join(root, "packages", name)),
    ),
  );
  return Object.fromEntries(names.map((name) => [nameOf(name), `file:${tarball(name)}`]));
}

/** Runs pnpm in a folder. */
export function pnpm(args: readonly string[], cwd: string): Promise<void> {
  return run("npx", ["--yes", "pnpm@10", ...args], cwd);
}

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const PATH = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
  await promisify(execFile)(command, args, { cwd, env: { ...process.env, PATH } });
}

function nameOf(folder: string): string {
  return folder === "cli" ? "reporthook" : `@reporthook/${folder}`;
}
