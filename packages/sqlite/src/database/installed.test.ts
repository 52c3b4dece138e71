import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { build } from "esbuild";
import { expect, it } from "vitest";

const folder = realpathSync(temporaryFolder());

// webpack replaces import.meta.url by the one it had where the bundle was made; esbuild removes it from CommonJS.
const ofThePipeline = '"file:///elsewhere/in/the/pipeline/index.js"';
const bundles = [
  { format: "esm", url: ofThePipeline },
  { format: "cjs", url: ofThePipeline },
  { format: "cjs", url: "undefined" },
] as const;

/** Bundles a program elsewhere; returns its file in a folder of `modules` that are installed there. */
async function bundle(
  { format, url }: (typeof bundles)[number],
  modules: Readonly<Record<string, string>>,
  print: string,
): Promise<string> {
  const app = mkdtempSync(join(folder, "app-"));
  for (const [name, code] of Object.entries(modules)) {
    mkdirSync(join(app, "node_modules", name), { recursive: true });
    writeFileSync(join(app, "node_modules", name, "index.js"), code);
  }
  const outfile = join(app, format === "esm" ? "program.mjs" : "program.cjs");
  const resolveDir = fileURLToPath(new URL(".", import.meta.url));
  await build({
    stdin: { contents: `import { loadDriver } from "./driver.ts"; ${print}`, resolveDir },
    outfile,
    bundle: true,
    platform: "node",
    format,
    conditions: ["@reporthook/source"],
    define: { "import.meta.url": url },
  });
  return outfile;
}

/** Runs a program; returns what it prints. */
function started(program: string, cwd: string): string {
  // pnpm sets NODE_PATH, by which everything is found from everywhere.
  const env = { ...process.env, NODE_PATH: "" };
  return execFileSync(process.execPath, [program], { cwd, env, encoding: "utf8" });
}

it.each(bundles)(
  "loadDriver() finds the driver beside a bundle ($format, $url) that runs from elsewhere",
  async (bundled) => {
    const modules = { "the-driver": "module.exports = class Database {};" };
    const program = await bundle(bundled, modules, 'console.log(loadDriver("the-driver").module);');
    const file = join(program, "../node_modules/the-driver/index.js");
    expect(started(program, mkdtempSync(join(folder, "cwd-")))).toBe(`${file}\n`);
  },
);

it("loadDriver() finds the driver beside a bundle that another program loads from elsewhere", async () => {
  const modules = { "the-driver": "module.exports = class Database {};" };
  const program = await bundle(bundles[2], modules, 'console.log(loadDriver("the-driver").name);');
  const loader = join(mkdtempSync(join(folder, "loader-")), "loader.cjs");
  writeFileSync(loader, `require(${JSON.stringify(program)});`);
  expect(started(loader, folder)).toBe("the-driver\n");
});

it.each(bundles)(
  "loadDriver() says where a bundle ($format, $url) has looked for the driver",
  async (bundled) => {
    const print = 'try { loadDriver("the-driver"); } catch ({ message }) { console.log(message); }';
    const program = await bundle(bundled, {}, print);
    const cwd = mkdtempSync(join(folder, "cwd-"));
    const ofThisFile = bundled.url === "undefined" ? [] : ["/elsewhere/in/the/pipeline"];
    const looked = [...ofThisFile, join(program, ".."), cwd].join(", ");
    expect(started(program, cwd)).toMatch(
      `The SQLite driver "the-driver" is found from none of ${looked}. `,
    );
  },
);

it.each(bundles)(
  "loadDriver() names the part that is missing of the driver beside a bundle ($format, $url)",
  async (bundled) => {
    const modules = { libsql: 'require("@libsql/native");' };
    const print = 'try { loadDriver("libsql"); } catch ({ message }) { console.log(message); }';
    expect(started(await bundle(bundled, modules, print), folder)).toMatch(
      /^The SQLite driver "libsql" is installed and can't be loaded: Cannot find module '@libsql\/native'\. Copy/,
    );
  },
);
