import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

/**
 * Bundles a program of the workspace from its sources; resolves to a file that Node runs. Loaded one by one, the sources take two
 * seconds of a processor at each start.
 */
export async function programOf(source: URL): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reporthook-program-"));
  const outfile = join(folder, `${basename(source.pathname, ".ts")}.mjs`);
  await build({
    entryPoints: [fileURLToPath(source)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "warning",
    conditions: ["@reporthook/source"],
    plugins: [packagesWhereTheyAre, sourcesKnowTheirPlace],
  });
  return outfile;
}

/** The bundle has its own folder, from which no package is found by name. */
const packagesWhereTheyAre: Plugin = {
  name: "packages where they are",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === "ours") return;
      const found = await resolve(path, { ...asked, pluginData: "ours" });
      if (!found.path.includes("/node_modules/")) return found;
      return { path: pathToFileURL(found.path).href, external: true };
    });
  },
};

/** Each source is told its own URL, by which it finds what stands beside it; the code of SQLite's thread is in the bundle. */
const sourcesKnowTheirPlace: Plugin = {
  name: "sources know their place",
  setup({ onLoad }) {
    onLoad({ filter: /\/sqlite\/src\/thread-code\.ts$/ }, async ({ path }) => {
      const { threadCode } = (await import(path)) as { threadCode: () => string };
      return { contents: `export const threadCode = () => ${JSON.stringify(threadCode())};` };
    });
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const code = await readFile(path, "utf8");
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: code.replaceAll(/(?<!")import\.meta\.url/g, url), loader: "ts" };
    });
  },
};
