// The reference: every entry of every package, from the doc comments.
import { readdirSync, readFileSync } from "node:fs";

const packages = new URL("../packages/", import.meta.url);
const entries = readdirSync(packages).flatMap((name) => {
  const { exports } = JSON.parse(readFileSync(new URL(`${name}/package.json`, packages), "utf8"));
  return Object.values(exports)
    .filter((entry) => entry.default)
    .map((entry) => entry["@reporthook/source"])
    .filter(Boolean)
    .map((file) => `../packages/${name}/${file.slice(2)}`);
});

export default {
  name: "Reference",
  entryPoints: entries,
  tsconfig: "tsconfig.json",
  plugin: ["typedoc-plugin-markdown", "./reference-names.mjs"],
  out: "generated/reference",
  readme: "none",
  disableSources: true,
  excludePrivate: true,
  excludeInternal: true,
  // What errors have of Node's own.
  excludeExternals: true,
  groupOrder: ["Functions", "Classes", "Interfaces", "*"],
  validation: { invalidLink: true, notExported: false, notDocumented: false },
  treatValidationWarningsAsErrors: true,
  logLevel: "Warn",
  // Those of the plugin.
  outputFileStrategy: "modules",
  entryFileName: "index",
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useCodeBlocks: true,
  expandObjects: true,
  parametersFormat: "table",
  interfacePropertiesFormat: "table",
  typeDeclarationFormat: "table",
  propertyMembersFormat: "table",
  tableColumnSettings: { hideModifiers: true },
};
