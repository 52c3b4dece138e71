// Builds the page in page/ into one module of texts, so that apps that install the package have nothing to build or to serve.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const types = {
  html: "text/html",
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
};

// Of tests it is "test", for which the page would be built with the paths of its sources.
process.env["NODE_ENV"] = "production";

const { output } = await build({
  root: fileURLToPath(new URL("./page", import.meta.url)),
  base: "./",
  logLevel: "warn",
  configFile: false,
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: { write: false, target: "es2022", modulePreload: false, assetsInlineLimit: 0 },
});

const assets = output.map(({ fileName, code, source }) => {
  const name = fileName.replace("assets/", "");
  const type = `${types[name.split(".").at(-1)]}; charset=utf-8`;
  return [name, { type, text: code ?? String(source) }];
});

const declared = `/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly text: string;
}

/** The files of the page by name. */
export const assets: Readonly<Record<string, Asset>> = `;
const json = JSON.stringify(Object.fromEntries(assets), null, 2);
const file = new URL("./src/page.generated.ts", import.meta.url);
const text = `${declared}${json};\n`;
// A file that has not changed is left alone: another process may be reading it.
if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
