// Makes the next version of the changesets: its number in every package, their texts in CHANGELOG.md.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { run } from "./pack.mjs";

const texts = readdirSync(".changeset")
  .filter((name) => /(?<!README)\.md$/.test(name))
  .map((name) => readFileSync(`.changeset/${name}`, "utf8").replace(/^---.*?^---\s*/ms, ""));
await run("pnpm", ["exec", "changeset", "version"]);
const { version } = JSON.parse(readFileSync("packages/core/package.json"));
const [head, ...earlier] = readFileSync("CHANGELOG.md", "utf8").split(/^(?=## )/m);
writeFileSync(
  "CHANGELOG.md",
  [`${head.trimEnd()}\n\n## ${version}\n\n`, texts.join("\n"), ...earlier].join(""),
);
const code = "packages/core/src/lib/version.ts";
writeFileSync(code, readFileSync(code, "utf8").replace(/".+"/, `"${version}"`));
