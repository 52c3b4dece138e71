// One app under Yarn's Plug'n'Play: run by Yarn, and by Node with Yarn's flags.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { elsewhere, runWithEach } from "../elsewhere.mjs";

const yarn = resolve("node_modules/@yarnpkg/cli-dist/bin/yarn.js");
const { overrides } = JSON.parse(readFileSync("../pnpm-workspace.yaml", "utf8"));
const own = ["core", "emulator", "hono", "sqlite"].map((name) => `@reporthook/${name}`);
const dependencies = Object.fromEntries(own.map((name) => [name, overrides[name]]));
mkdirSync("project");
cpSync("../bundlers/app.js", "project/app.js");
writeFileSync("project/yarn.lock", "");
writeFileSync("project/.yarnrc.yml", "enableTelemetry: false\nenableGlobalCache: false\n");
writeFileSync(
  "project/package.json",
  JSON.stringify({
    name: "project",
    private: true,
    type: "module",
    dependencies: { ...dependencies, hono: "4.13.19", libsql: "0.5.29" },
    resolutions: dependencies,
  }),
);
execFileSync("node", [yarn, "install", "--no-immutable"], { cwd: "project" });
await elsewhere("project", async (folder) => {
  await runWithEach(folder, yarn, "node", "app.js");
  const flags = ["--require", "./.pnp.cjs", "--experimental-loader", "./.pnp.loader.mjs"];
  await runWithEach(folder, ...flags, "app.js");
});
