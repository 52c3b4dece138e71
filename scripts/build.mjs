// Builds the package in the current directory: ESM and CommonJS, each with declarations and maps; one that nobody imports,
// because it is a program, ESM only.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const modules = {
  esm: { module: "nodenext" },
  // Only "bundler" lets sources with ESM syntax in a "type": "module" package become CommonJS.
  cjs: {
    module: "commonjs",
    moduleResolution: "bundler",
    verbatimModuleSyntax: false,
    // These sources have passed the check for ESM; this one would refuse import.meta, replaced below.
    noCheck: true,
  },
};

// What is served to a browser is built first: it becomes a module of the package.
if (existsSync("build-page.mjs")) await import(pathToFileURL(resolve("build-page.mjs")).href);

rmSync("dist", { recursive: true, force: true });
const isProgram = JSON.parse(readFileSync("package.json", "utf8")).bin !== undefined;
if (isProgram) delete modules.cjs;

for (const [format, options] of Object.entries(modules)) {
  const config = `dist/tsconfig.${format}.json`;
  mkdirSync(`dist/${format}`, { recursive: true });
  writeFileSync(
    config,
    JSON.stringify({
      extends: "../../../tsconfig.json",
      compilerOptions: {
        ...options,
        // Our other packages are read from their dist, as a user of this one would.
        customConditions: [],
        noEmit: false,
        rootDir: "../src",
        outDir: format,
        declarationMap: true,
        sourceMap: true,
      },
      include: ["../src"],
      exclude: ["../src/**/*.test.ts"],
    }),
  );
  const { status } = spawnSync("tsc", ["--project", config], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
  rmSync(config);
}

if (isProgram) process.exit();

for (const name of readdirSync("dist/cjs", { recursive: true })) {
  const file = join("dist/cjs", name);
  if (!name.endsWith(".js")) continue;
  const code = readFileSync(file, "utf8");
  const url = 'require("node:url").pathToFileURL(__filename).href';
  writeFileSync(file, code.replaceAll("import.meta.url", url));
}
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
