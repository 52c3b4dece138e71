// Builds one app with a file tracer and with each bundler. The builds run without this folder, a bundle from a third one: Node 24
// needs nothing but the bundle, Node 20 libsql beside it, which has a native part.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import nodeResolve from "@rollup/plugin-node-resolve";
import { nodeFileTrace } from "@vercel/nft";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import * as tsup from "tsup";
import * as vite from "vite";
import webpack from "webpack";
import { elsewhere, nodes, run, runWithEach, withoutModules } from "../elsewhere.mjs";

const workspace = resolve("..");

async function traced() {
  for (const [type, app] of [
    ["import", "app.js"],
    ["require", "app.cjs"],
  ]) {
    // Without it nft on Node 20 follows require() elsewhere than Node 20 does.
    const options = { base: workspace, moduleSyncCatchall: true };
    const { fileList } = await nodeFileTrace([app], options);
    const folder = resolve(`traced-by-${type}`);
    for (const file of fileList)
      cpSync(join(workspace, file), join(folder, file), { verbatimSymlinks: true });
    const here = relative(workspace, resolve("."));
    await elsewhere(folder, (copy) => runWithEach(join(copy, here), app));
  }
}

/** Bundles by esbuild; a warning is a failure. */
const byEsbuild = (options) => async (file) => {
  const all = {
    entryPoints: ["app.js"],
    outfile: file,
    bundle: true,
    platform: "node",
    ...options,
  };
  const { warnings } = await esbuild.build({ ...all, logLevel: "silent" });
  if (warnings.length > 0) throw new Error(JSON.stringify(warnings));
};

async function byTsup(file) {
  const format = file.endsWith(".cjs") ? "cjs" : "esm";
  const outExtension = () => ({ js: file.endsWith(".cjs") ? ".cjs" : ".mjs" });
  const entry = { entry: { app: "app.js" }, outDir: dirname(file), outExtension, config: false };
  await tsup.build({ ...entry, format, noExternal: [/./], silent: true });
}

async function byVite(file) {
  await vite.build({
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: true },
    build: {
      ssr: "app.js",
      outDir: dirname(file),
      rolldownOptions: { output: { entryFileNames: "app.mjs" } },
    },
  });
}

const byRollup = (format) => async (file) => {
  const plugins = [nodeResolve({ exportConditions: ["node"] })];
  const bundle = await rollup({ input: "app.js", external: /^node:/, plugins });
  await bundle.write({ file, format, inlineDynamicImports: true });
};

const byWebpack = (options) => (file) => {
  const output = { path: dirname(file), filename: "[name]", ...options.output };
  const entry = { [file.split("/").at(-1)]: "./app.js" };
  const all = { mode: "production", target: "node20", entry, ...options, output };
  return new Promise((resolve, reject) => {
    webpack(all, (error, stats) => {
      if (error || stats.hasErrors() || stats.hasWarnings())
        reject(error ?? new Error(stats.toString()));
      else resolve();
    });
  });
};

const byNcc = (app) => (file) => {
  execFileSync("ncc", ["build", app, "--out", dirname(file), "--quiet"]);
};

const bundlers = {
  "esbuild, ESM": ["app.mjs", byEsbuild({ format: "esm" })],
  "esbuild, CommonJS": ["app.cjs", byEsbuild({ format: "cjs" })],
  "esbuild, minified": ["app.mjs", byEsbuild({ format: "esm", minify: true })],
  "tsup, ESM": ["app.mjs", byTsup],
  "tsup, CommonJS": ["app.cjs", byTsup],
  Vite: ["app.mjs", byVite],
  "rollup, ESM": ["app.mjs", byRollup("es")],
  "rollup, CommonJS": ["app.cjs", byRollup("cjs")],
  "webpack, CommonJS": ["app.cjs", byWebpack({})],
  "webpack, ESM": [
    "app.mjs",
    byWebpack({ output: { module: true }, experiments: { outputModule: true } }),
  ],
  "ncc, ESM": ["index.js", byNcc("app.js")],
  "ncc, CommonJS": ["index.cjs", byNcc("app.cjs")],
};

const requires = readFileSync("app.js", "utf8").replace(
  /import (.*) from (.*);/g,
  "const $1 = require($2);",
);
writeFileSync("app.cjs", requires);
await traced();

const bundled = resolve("bundled");
const modules = join(bundled, "node_modules");
const folderOf = (name) => join(bundled, name.replace(", ", "-"));
for (const [name, [file, bundle]] of Object.entries(bundlers)) {
  await bundle(join(folderOf(name), file));
}
cpSync(dirname(realpathSync("node_modules/libsql")), modules, {
  recursive: true,
  dereference: true,
});

const cwd = mkdtempSync(join(tmpdir(), "cwd-"));
try {
  await withoutModules(async () => {
    for (const [name, [file]] of Object.entries(bundlers)) await check(name, file);
  });
} finally {
  rmSync(cwd, { recursive: true });
}

async function check(name, file) {
  const [node20, node24] = nodes;
  await elsewhere(folderOf(name), async (copy) => {
    const said = [await run(node24, cwd, join(copy, file))];
    cpSync(modules, join(copy, "node_modules"), { recursive: true });
    said.push(await run(node20, cwd, join(copy, file)));
    console.log(`${name}: ${said.join(", ")}`);
  });
}
