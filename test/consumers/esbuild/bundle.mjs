// Bundles core: of what a bundler warns, how much of it ends up in a bundle, and what an import loads.
import { cpSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const failures = [];

/** Bundles; a warning is a failure of ours. */
async function build(options) {
  const result = await esbuild.build({ bundle: true, logLevel: "silent", ...options });
  failures.push(...(await esbuild.formatMessages(result.warnings, { kind: "warning" })));
  return result;
}

// In node_modules much is not warned of; a linked package is elsewhere.
cpSync("node_modules/@reporthook/core", "linked", { recursive: true, dereference: true });
await build({
  entryPoints: ["linked/dist/esm/*.js"],
  outdir: "dist",
  write: false,
  platform: "node",
});

const budgets = JSON.parse(readFileSync("budgets.json", "utf8"));
const within = (what, actual, most) => {
  console.log(`${what}: ${actual} of at most ${most}`);
  if (actual > most) failures.push(`${what}: ${actual} is more than ${most}`);
};

/** The bundle of a program with this import, for a platform of which the bundler knows nothing. */
async function bundled(code, options) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code, resolveDir: "." },
    write: false,
    metafile: true,
    format: "esm",
    platform: "neutral",
    external: ["node:*"],
    ...options,
  });
  const { "<stdin>": _, ...files } = metafile.inputs;
  return { code: outputFiles[0].contents, files: Object.values(files) };
}

for (const [code, most] of Object.entries(budgets.gzipped)) {
  const plain = gzipSync((await bundled(code, {})).code).length;
  const minified = gzipSync((await bundled(code, { minify: true })).code).length;
  within(`${code} gzipped bytes, minified (${plain} as it is)`, minified, most);
}
for (const [entry, most] of Object.entries(budgets.loaded)) {
  const { files } = await bundled(`import "${entry}";`, { ignoreAnnotations: true });
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  within(`import "${entry}" loads files`, files.length, most.files);
  within(`import "${entry}" loads bytes`, bytes, most.bytes);
}

if (failures.length > 0) throw new Error(failures.join("\n"));
