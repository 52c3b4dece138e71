import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

let code: string | undefined;

/**
 * The code of the writer's thread, one CommonJS script. Here it is built from the sources, so that the workspace needs no build;
 * in the published package, `scripts/build.mjs` puts the text in the place of this file.
 */
export function threadCode(): string {
  code ??= builtBefore(process.env["REPORTHOOK_THREAD_CODE"], build);
  return code;
}

/** What a run of tests has built once for all of its processes, in a file of its own. */
function builtBefore(file: string | undefined, make: () => string): string {
  if (file === undefined) return make();
  if (existsSync(file)) return readFileSync(file, "utf8");
  const made = make();
  writeFileSync(`${file}.${process.pid}`, made);
  renameSync(`${file}.${process.pid}`, file);
  return made;
}

function build(): string {
  const { href } = new URL("./writer-thread.cjs", import.meta.url);
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL("./writer-thread.ts", import.meta.url))],
    outfile: fileURLToPath(href),
    write: false,
    bundle: true,
    platform: "node",
    format: "cjs",
    conditions: ["@reporthook/source"],
    // It looks for no module: the main thread tells where the driver is.
    define: { "import.meta.url": "undefined" },
    // For a debugger.
    sourcemap: "inline",
    footer: { js: `//# sourceURL=${href}` },
  });
  return outputFiles[0]?.text ?? "";
}
