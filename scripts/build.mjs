// Builds the package in the current directory: ESM and CommonJS, each with declarations; a program, which nobody imports, as
// ESM only. An entry and its imports are bundled into few files: see decisions/010-few-files-to-load.md.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const formats = manifest.bin === undefined ? ["esm", "cjs"] : ["esm"];

// The page for browsers is built first: it becomes a module of the package.
if (existsSync("build-page.mjs")) await import(pathToFileURL(resolve("build-page.mjs")).href);

rmSync("dist", { recursive: true, force: true });
declare();

/** Messages without their comments, which esbuild keeps between the members of an object: they are for docs/logs.md. */
const bareMessages = {
  name: "bare messages",
  setup({ onLoad }) {
    onLoad({ filter: /messages\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll(/\/\*\*.*?\*\//gs, ""),
      loader: "ts",
    }));
  },
};

/** The replacement of import.meta in CommonJS, in a form that file tracers understand. */
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
  logLevel: "warning",
  plugins: [bareMessages],
};
// Node's own entry is apart, because the others run where its modules are not. If there are several others, each only passes on
// names of one file, which has the parts of all.
const forNode = entries().filter((entry) => basename(entry) === "node.ts");
const others = entries().filter((entry) => !forNode.includes(entry));
const partsOfAll = {
  name: "parts of all",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^parts$/ }, () => ({ path: "parts", namespace: "parts" }));
    onLoad({ filter: /^/, namespace: "parts" }, () => ({
      contents: others.map((entry) => `export * from "${entry}";`).join("\n"),
      resolveDir: ".",
    }));
  },
};
const fromParts = {
  name: "from parts",
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind }) =>
      kind === "entry-point" ? undefined : { path: "./parts.js", external: true },
    );
  },
};
const toEsm = { ...common, outdir: "dist/esm", format: "esm", bundle: true, packages: "external" };
const areSeveral = others.length > 1;
await build({
  ...toEsm,
  entryPoints: [...forNode, ...(areSeveral ? ["parts"] : others)].map((entry) => ({
    in: entry,
    out: basename(entry, ".ts"),
  })),
  splitting: true,
  chunkNames: "shared-[hash]",
  plugins: [bareMessages, threadAsText, partsOfAll],
});
if (areSeveral) await build({ ...toEsm, entryPoints: others, plugins: [fromParts] });
const files = readdirSync("dist/esm").filter((name) => name.endsWith(".js"));
if (formats.includes("cjs")) {
  for (const name of files) await toCommonJs(name);
  writeFileSync("dist/cjs/package.json", '{ "type": "commonjs" }\n');
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

/** Writes the declarations that the entries lead to, the same for each format: the package.json beside them decides which. */
function declare() {
  const config = "tsconfig.tmp.json";
  const all = "dist/declarations";
  writeFileSync(
    config,
    JSON.stringify({
      extends: "../../tsconfig.json",
      compilerOptions: {
        // Our other packages are read from their dist, as a user of this one would.
        customConditions: [],
        noEmit: false,
        emitDeclarationOnly: true,
        rootDir: "src",
        outDir: all,
      },
      include: ["src"],
      exclude: ["src/**/*.test.ts"],
    }),
  );
  const { status } = spawnSync("tsc", ["--project", config], { stdio: "inherit" });
  rmSync(config);
  if (status !== 0) process.exit(1);
  const needed = new Set(entries().map((entry) => entry.replace("./src/", "").replace(".ts", "")));
  for (const name of needed) {
    const text = readFileSync(`${all}/${name}.d.ts`, "utf8");
    for (const [, from] of text.matchAll(/"(\.{1,2}\/[^"]+)\.ts"/g)) {
      needed.add(join(dirname(name), from));
    }
    for (const format of formats) cpSync(`${all}/${name}.d.ts`, `dist/${format}/${name}.d.ts`);
  }
  rmSync(all, { recursive: true });
}
