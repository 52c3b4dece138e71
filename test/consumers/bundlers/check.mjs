// One app by a file tracer, webpack and ncc. The last two leave out libsql, which has a native part: it is installed beside.
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { nodeFileTrace } from "@vercel/nft";
import webpack from "webpack";
import { elsewhere, runWithEach } from "../elsewhere.mjs";

const workspace = resolve("..");

/** What libsql needs is beside it. */
function addLibsql(folder) {
  const installed = dirname(realpathSync("node_modules/libsql"));
  cpSync(installed, join(folder, "node_modules"), { recursive: true, dereference: true });
}

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

function bundled(options) {
  const all = { mode: "production", target: "node20", entry: "./app.js", ...options };
  return new Promise((resolve, reject) => {
    webpack(all, (error, stats) => {
      if (error || stats.hasErrors() || stats.hasWarnings())
        reject(error ?? new Error(stats.toString()));
      else resolve();
    });
  });
}

async function byWebpack() {
  const [cjs, esm] = [resolve("webpack-cjs"), resolve("webpack-esm")];
  await bundled({ output: { path: cjs, filename: "app.cjs" } });
  await bundled({
    output: { path: esm, filename: "app.mjs", module: true },
    experiments: { outputModule: true },
  });
  await elsewhere(cjs, (folder) => runWithEach(folder, "app.cjs"), addLibsql);
  await elsewhere(esm, (folder) => runWithEach(folder, "app.mjs"), addLibsql);
}

async function byNcc() {
  execFileSync("ncc", ["build", "app.js", "--out", "ncc", "--quiet"]);
  await elsewhere("ncc", (folder) => runWithEach(folder, "index.js"), addLibsql);
}

const requires = readFileSync("app.js", "utf8").replace(
  /import (.*) from (.*);/g,
  "const $1 = require($2);",
);
writeFileSync("app.cjs", requires);
await traced();
await byWebpack();
await byNcc();
