import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

let code: string | undefined;

/**
 * The code of the writer's thread, one CommonJS script. Here it is built from the sources, so that the workspace needs no build;
 * in the published package, `scripts/build.mjs` puts the text in the place of this file.
 */
export function threadCode(): string {
  const { href } = new URL("./writer-thread.cjs", import.meta.url);
  code ??= buildSync({
    entryPoints: [fileURLToPath(new URL("./writer-thread.ts", import.meta.url))],
    outfile: fileURLToPath(href),
    write: false,
    bundle: true,
    platform: "node",
    format: "cjs",
    conditions: ["@reporthook/source"],
    // It looks for no module: the main thread tells where the driver is.
    define: { "import.meta.url": "undefined" },
    footer: { js: `//# sourceURL=${href}` },
  }).outputFiles[0]?.text;
  return code as string;
}
