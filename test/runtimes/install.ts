import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = fileURLToPath(new URL(".", import.meta.url));
// For what hangs: the slowest takes a minute.
const maxMs = 600_000;

function run(what: string, cwd: string, args: readonly string[]): void {
  const startedAt = performance.now();
  const { error, status, stdout, stderr } = spawnSync("npx", ["--yes", "pnpm@10", ...args], {
    cwd,
    encoding: "utf8",
    timeout: maxMs,
  });
  if (status !== 0) throw new Error(`${what} failed: ${error ?? ""}\n${stdout}${stderr}`);
  console.log(`${what}: ${Math.round((performance.now() - startedAt) / 1_000)} s`);
}

/** Builds the packages, installs the runtimes, and makes the programs that run on them. */
export default async function install(): Promise<void> {
  if (!process.env["PACKAGES_BUILT"]) run("Packages built", root, ["--recursive", "build"]);
  run("Runtimes installed", folder, ["install", "--frozen-lockfile", "--prefer-offline"]);
  const options = {
    bundle: true,
    format: "esm",
    outdir: `${folder}/dist`,
    logLevel: "warning",
  } as const;
  // Node, Bun and Deno find the built packages by themselves, as an app's would.
  await build({
    ...options,
    entryPoints: [`${folder}/programs/on-server.ts`],
    packages: "external",
    // They are TypeScript, which Node 20 does not read.
    alias: { "@reporthook/test-support/listening": `${root}/test/support/listening.ts` },
    platform: "node",
  });
  // A Worker is one file.
  await build({
    ...options,
    entryPoints: [`${folder}/programs/on-workerd.ts`, `${folder}/programs/app-on-workerd.ts`],
    conditions: ["workerd", "worker"],
    external: ["cloudflare:workers"],
  });
  await stop();
}
