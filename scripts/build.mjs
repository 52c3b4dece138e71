// Builds the package in the current directory: ESM and CommonJS, each with declarations and maps; one that nobody imports,
// because it is a program, ESM only. What an entry needs is put into few files: see decisions/010-few-files-to-load.md.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const formats = manifest.bin === undefined ? ["esm", "cjs"] : ["esm"];

// What is served to a browser is built first: it becomes a module of the package.
if (existsSync("build-page.mjs")) await import(pathToFileURL(resolve("build-page.mjs")).href);

rmSync("dist", { recursive: true, force: true });
for (const format of formats) declare(format);

/** Messages without their comments, which esbuild keeps between the members of an object: they are for docs/logs.md. */
const bareMessages = {
  name: "bare messages",
  setup({ onLoad }) {
    onLoad({ filter: /messages\.ts$/ }, ({ path }) => ({
      // The lines stay, for source maps.
      contents: readFileSync(path, "utf8").replaceAll(/\/\*\*.*?\*\//gs, (text) =>
        text.replaceAll(/[^\n]/g, ""),
      ),
      loader: "ts",
    }));
  },
};

/** What stands in the place of import.meta, in words that file tracers understand in CommonJS. */
const inCommonJs = {
  define: { "import.meta.url": "urlOfThisFile" },
  banner: {
    js: [
      'const { createRequire } = require("node:module");',
      'const { pathToFileURL: toUrl } = require("node:url");',
      "const urlOfThisFile = toUrl(__filename).href;",
    ].join(" "),
  },
};
const ownRequire = /\b[\w.]+\.createRequire\(urlOfThisFile\)/g;

/** The code of a thread as a text, for which a bundle of an app needs no file beside it. */
const threadAsText = {
  name: "thread as text",
  setup({ onLoad }) {
    onLoad({ filter: /thread-code\.ts$/ }, async ({ path }) => {
      const { outputFiles } = await build({
        ...common,
        entryPoints: [join(dirname(path), "writer-thread.ts")],
        write: false,
        sourcemap: false,
        format: "cjs",
        bundle: true,
        // It looks for no module: the main thread tells where the driver is.
        define: { "import.meta.url": "undefined" },
        // Not its names, which stack traces show.
        minifyWhitespace: true,
        footer: { js: `//# sourceURL=${manifest.name}/writer-thread.cjs` },
      });
      const text = JSON.stringify(outputFiles[0].text);
      return { contents: `export const threadCode = () => ${text};` };
    });
  },
};

const common = {
  target: "node20",
  platform: "node",
  sourcemap: true,
  // The sources are in the package too.
  sourcesContent: false,
  logLevel: "warning",
  plugins: [bareMessages],
};
await build({
  ...common,
  entryPoints: entries(),
  outdir: "dist/esm",
  format: "esm",
  bundle: true,
  splitting: true,
  chunkNames: "shared-[hash]",
  packages: "external",
  plugins: [bareMessages, threadAsText],
});
const files = readdirSync("dist/esm").filter((name) => name.endsWith(".js"));
if (manifest.sideEffects === false) for (const name of files) dropBareImports(`dist/esm/${name}`);
if (formats.includes("cjs")) {
  for (const name of files) await toCommonJs(name);
  writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
}

/**
 * Empties the lines that import a shared file for its side effects: it has none (`sideEffects: false`), and whoever bundles
 * us is warned of each. Lines keep their numbers, as the source maps have them.
 */
function dropBareImports(file) {
  const code = readFileSync(file, "utf8");
  writeFileSync(file, code.replace(/^import "\.\/shared-\w+\.js";$/gm, ""));
}

async function toCommonJs(name) {
  const [file, code] = [`dist/cjs/${name}`, readFileSync(`dist/esm/${name}`, "utf8")];
  const asksWhereItIs = code.includes("import.meta.url");
  await build({
    ...common,
    stdin: { contents: code, resolveDir: "dist/esm", sourcefile: name },
    outfile: file,
    format: "cjs",
    // Jest has no import() in CommonJS.
    supported: { "dynamic-import": false },
    ...(asksWhereItIs && inCommonJs),
  });
  if (asksWhereItIs) nameForTracers(file);
}

/** Calls createRequire, where the code does so for its own file, by the name of which tracers know what it is. */
function nameForTracers(file) {
  const code = readFileSync(file, "utf8");
  writeFileSync(file, code.replace(ownRequire, "createRequire(__filename)"));
}

/** The sources of what is exported and of programs: what is loaded by its name. */
function entries() {
  const exported = Object.values(manifest.exports)
    .filter((entry) => entry.default)
    .map((entry) => entry["@reporthook/source"]);
  const programs = Object.values(manifest.bin ?? {}).map((file) =>
    file.replace("/dist/esm/", "/src/").replace(".js", ".ts"),
  );
  return [...exported, ...programs].filter(Boolean);
}

function declare(format) {
  // One in which there is a package.json of type "module" gives declarations of ESM; the other is read as CommonJS.
  const config = `tsconfig.${format}.tmp.json`;
  writeFileSync(
    config,
    JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: {
        // Our other packages are read from their dist, as a user of this one would.
        customConditions: [],
        noEmit: false,
        emitDeclarationOnly: true,
        declarationMap: true,
        rootDir: "src",
        outDir: `dist/${format}`,
      },
      include: ["src"],
      exclude: ["src/**/*.test.ts"],
    }),
  );
  const { status } = spawnSync("tsc", ["--project", config], { stdio: "inherit" });
  rmSync(config);
  if (status !== 0) process.exit(1);
}
