import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** The part of esbuild, which the workspace has, that is used here. */
interface Bundler {
  buildSync(options: object): { readonly outputFiles: readonly [{ readonly text: string }] };
}

let built: string | undefined;

/**
 * The code of the writer's thread, one CommonJS script. Here it is built from the sources, so that the workspace needs no build;
 * in the published package, `scripts/build.mjs` puts the text in the place of this file.
 */
export function threadCode(): string {
  if (built !== undefined) return built;
  const { buildSync } = createRequire(import.meta.url)("esbuild") as Bundler;
  const file = fileURLToPath(new URL("./writer-thread.ts", import.meta.url));
  const { outputFiles } = buildSync({
    entryPoints: [file],
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    conditions: ["@reporthook/source"],
    // It looks for no module: the main thread tells where the driver is.
    define: { "import.meta.url": "undefined" },
    // For a debugger.
    sourcemap: "inline",
    footer: { js: `//# sourceURL=${file}` },
  });
  built = outputFiles[0].text;
  return built;
}
