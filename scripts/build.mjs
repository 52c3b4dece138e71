// Builds the package in the current directory: ESM and CommonJS, each with declarations and maps.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";

const modules = {
  esm: { module: "nodenext" },
  // Only "bundler" lets sources with ESM syntax in a "type": "module" package become CommonJS.
  cjs: { module: "commonjs", moduleResolution: "bundler", verbatimModuleSyntax: false },
};

rmSync("dist", { recursive: true, force: true });

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

writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
