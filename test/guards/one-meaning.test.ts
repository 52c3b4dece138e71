import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const packages = fileURLToPath(new URL("../../packages", import.meta.url));

/** Names that several files may export, because they mean the same in each: with the reason for the copy. */
const shared: Readonly<Record<string, string>> = {
  reporthook: "Every adapter exports this function, as the README promises.",
  KoaContext: "Each package declares the members of Koa's context that it uses.",
  ReportStatus: "The emulator imports nothing of core.",
  Verdict: "The emulator imports nothing of core.",
};

const declaration =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm;

/** The files that declare each exported name. */
function declarations(): ReadonlyMap<string, ReadonlySet<string>> {
  const files = new Map<string, Set<string>>();
  for (const name of readdirSync(packages)) {
    for (const folder of ["src", "page", "test-support"]) {
      for (const file of sourcesIn(join(name, folder))) {
        const text = readFileSync(join(packages, file), "utf8");
        for (const [, exported = ""] of text.matchAll(declaration)) {
          files.set(exported, (files.get(exported) ?? new Set()).add(file));
        }
      }
    }
  }
  return files;
}

function sourcesIn(folder: string): string[] {
  try {
    return readdirSync(join(packages, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.tsx?$/.test(name) && !/\.(test|generated)\.ts$/.test(name))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

test("an exported name has one meaning: it is declared in one file", () => {
  const several = [...declarations()].filter(([, files]) => files.size > 1);
  const found = several
    .filter(([name]) => !(name in shared))
    .map(([name, files]) => `${name}: ${[...files].sort().join(", ")}`);
  expect(found).toEqual([]);
});

test("no name is shared without need", () => {
  const all = declarations();
  const single = Object.keys(shared).filter((name) => (all.get(name)?.size ?? 0) < 2);
  expect(single).toEqual([]);
});
