// Copies a build to another folder, where nothing of this one is found, and runs it with Node 20 and 24.
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** The programs of Node 20 and 24. */
export const nodes = JSON.parse(readFileSync(new URL("./nodes.json", import.meta.url), "utf8"));

/** Calls `use` with a copy of a folder; `add` may put more into it. */
export async function elsewhere(folder, use, add = () => {}) {
  const copy = mkdtempSync(join(tmpdir(), "elsewhere-"));
  try {
    cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
    add(copy);
    await use(copy);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** Calls `use` while nothing is installed in the workspace, whose paths some bundles name. */
export async function withoutModules(use) {
  const installed = fileURLToPath(new URL("./node_modules", import.meta.url));
  renameSync(installed, `${installed}-away`);
  try {
    await use();
  } finally {
    renameSync(`${installed}-away`, installed);
  }
}

/** Runs a program; resolves to what it says, and rejects when it fails. */
export async function run(node, cwd, ...args) {
  const { stdout } = await promisify(execFile)(node, args, { cwd, timeout: 60_000 });
  return stdout.trimEnd();
}

/** Runs a program with each Node; prints what it says, and rejects when it fails. */
export async function runWithEach(cwd, ...args) {
  for (const node of nodes) console.log(await run(node, cwd, ...args));
}
