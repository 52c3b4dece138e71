// Packs every public package as it would be published, lints the tarballs, installs them into an
// empty folder and uses every entry from CommonJS, ESM and TypeScript. Needs a build.
import { execFile } from "node:child_process";
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "..");
// What our packages leave to their users to install.
const peers = Object.fromEntries(
  [
    ["sqlite", "libsql"],
    ["opentelemetry", "@opentelemetry/api"],
  ].map(([folder, name]) => {
    const manifest = readFileSync(join(root, "packages", folder, "package.json"));
    return [name, JSON.parse(manifest).devDependencies[name]];
  }),
);
const consumer = mkdtempSync(join(tmpdir(), "reporthook-"));

async function run(command, args, options = {}) {
  try {
    return (await promisify(execFile)(command, args, { cwd: consumer, ...options })).stdout;
  } catch (error) {
    throw new Error([command, ...args, "\n", error.stdout, error.stderr].join(" "));
  }
}

function write(name, content) {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  writeFileSync(join(consumer, name), text);
}

async function pack(folder) {
  const cwd = join(root, "packages", folder);
  const manifest = JSON.parse(readFileSync(join(cwd, "package.json")));
  if (manifest.private) return [];
  const packed = await run(
    "pnpm",
    ["--config.ignore-scripts=true", "pack", "--json", "--pack-destination", consumer],
    { cwd },
  );
  const tarball = JSON.parse(packed).filename;
  await run("publint", ["run", tarball, "--strict"]);
  const { name, exports = {} } = manifest;
  const entries = Object.keys(exports).filter((entry) => entry !== "./package.json");
  // A program has nothing to import.
  if (entries.length > 0) {
    await run("attw", [tarball, "--profile", "node16", "--format", "ascii", "--no-emoji"]);
  }
  return [{ name, tarball, entries: entries.map((entry) => name + entry.slice(1)) }];
}

async function install(packages) {
  const dependencies = Object.fromEntries(packages.map((p) => [p.name, `file:${p.tarball}`]));
  write("package.json", { private: true, dependencies: { ...dependencies, ...peers } });
  write("pnpm-workspace.yaml", {
    // So that our packages find each other's tarballs and not the registry.
    overrides: dependencies,
    autoInstallPeers: false,
    strictPeerDependencies: false,
  });
  await run("pnpm", ["install", "--prefer-offline"]);
  for (const name of ["typescript", "@types"]) {
    symlinkSync(join(root, "node_modules", name), join(consumer, "node_modules", name));
  }
}

async function useFromJavaScript(entries) {
  const program = (load) => `
    (async () => {
      const names = {};
      for (const entry of ${JSON.stringify(entries)}) {
        names[entry] = Object.keys(${load}).sort();
      }
      console.log(JSON.stringify(names));
    })();`;
  write("use.mjs", program("await import(entry)"));
  write("use.cjs", program("require(entry)"));
  const esm = await run("node", ["use.mjs"]);
  // Without the flag, the condition `module-sync` leads require() to the ESM build.
  for (const flags of [[], ["--no-experimental-require-module"]]) {
    const cjs = await run("node", [...flags, "use.cjs"]);
    if (cjs !== esm) throw new Error(`CommonJS and ESM export different names:\n${cjs}${esm}`);
  }
  return JSON.parse(esm);
}

/** Its thread is a file of its own, which has to be found in either format. */
async function openAnInbox() {
  const program = (load) => `
    (async () => {
      const { sqliteInbox } = ${load}("@reporthook/sqlite");
      for (const driver of [undefined, "libsql"]) {
        const inbox = sqliteInbox(process.argv[2], driver && { driver });
        await inbox.open();
        await inbox.close();
      }
    })();`;
  write("open.mjs", program("await import"));
  write("open.cjs", program("require"));
  const flag = "--no-experimental-require-module";
  for (const args of [["open.mjs"], ["open.cjs"], [flag, "open.cjs"]]) {
    await run("node", [...args, join(consumer, "inbox.db")]);
  }
}

async function useFromTypeScript(entries) {
  const imports = entries.map((entry, i) => `import * as m${i} from "${entry}";`);
  const uses = entries.map((_, i) => `console.log(m${i});`);
  const program = [...imports, ...uses].join("\n");
  write("use-esm.mts", program);
  write("use-cjs.cts", program);
  for (const module of ["nodenext", "node16"]) {
    write("tsconfig.json", {
      compilerOptions: { module, target: "es2023", strict: true, noEmit: true, types: ["node"] },
      files: ["use-esm.mts", "use-cjs.cts"],
    });
    await run("node_modules/typescript/bin/tsc", []);
  }
}

try {
  const packages = (await Promise.all(readdirSync(join(root, "packages")).map(pack))).flat();
  const entries = packages.flatMap((p) => p.entries);
  await install(packages);
  await useFromTypeScript(entries);
  for (const [entry, names] of Object.entries(await useFromJavaScript(entries))) {
    console.log(`${entry}: ${names.join(", ")}`);
  }
  await openAnInbox();
  console.log(`${packages.length} packages used from CommonJS, ESM and TypeScript`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(consumer, { recursive: true });
}
