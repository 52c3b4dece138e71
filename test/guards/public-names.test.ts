import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { declarationsOf } from "./public-names/declarations.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const head = "What this package exports, for review. `pnpm generate` writes it.";

test.each(readdirSync(join(root, "packages")))(
  "the package %s exports what public-names.md says",
  async (name) => {
    const folder = join(root, "packages", name);
    const { name: title, exports: entries } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    ) as { name: string; exports: Record<string, string | { "@reporthook/source": string }> };
    const names = await declarationsOf(root, join(folder, "src"));
    const sections: string[] = [];
    for (const [entry, target] of Object.entries(entries)) {
      if (typeof target === "string" || entry === "./internals") continue;
      const { exported, named } = names.of(target["@reporthook/source"].replace("./src/", ""));
      sections.push(`## ${title}${entry.slice(1)}`, fenced(exported));
      if (named.length > 0) sections.push("Named there, and not exported:", fenced(named));
    }
    await names.close();
    if (sections.length === 0) return;
    await expect([`# ${title}`, head, ...sections, ""].join("\n\n")).toMatchFileSnapshot(
      join(folder, "public-names.md"),
    );
  },
);

function fenced(declarations: readonly string[]): string {
  return `\`\`\`ts\n${declarations.join("\n")}\n\`\`\``;
}
