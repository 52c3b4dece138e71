import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const packagesDir = fileURLToPath(new URL("../../packages", import.meta.url));
const packages = readdirSync(packagesDir);

// ARCHITECTURE.md, section "Packages": what a package may import of ours.
const mayImport: Record<string, readonly string[]> = {
  core: [],
  emulator: [],
  express: ["core"],
  koa: ["core"],
  hono: ["core"],
  sqlite: ["core"],
  bullmq: ["core"],
  dashboard: ["core"],
  opentelemetry: ["core"],
  testing: ["core"],
  cli: packages,
};

/** In core, a file of Node's own is named so. */
const isNodeOnly = (name: string): boolean => /(^|\/)node(-[\w-]+)?\.ts$/.test(name);

interface Import {
  readonly from: string;
  readonly typeOnly: boolean;
}

const fileList = (name: string): string[] =>
  readdirSync(join(packagesDir, name, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => join(packagesDir, name, "src", file));

const read = (file: string): string => readFileSync(file, "utf8");

function importsOf(file: string): Import[] {
  const code = read(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const statements = code.matchAll(
    /^(import|export)\s(type\s)?([^;"']*?\sfrom\s+)?["']([^"']+)["']/gm,
  );
  const dynamic = code.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g);
  return [
    ...[...statements].map(([, , type, names = "", from = ""]) => {
      const inner = /\{([^}]*)\}/.exec(names)?.[1]?.split(",") ?? [];
      const listed = inner.map((name) => name.trim()).filter((name) => name !== "");
      const allTypes = listed.length > 0 && listed.every((name) => name.startsWith("type "));
      return { from, typeOnly: type !== undefined || allTypes };
    }),
    ...[...dynamic].map(([, from = ""]) => ({ from, typeOnly: false })),
  ];
}

const packageOf = (specifier: string): string | undefined =>
  specifier === "reporthook" ? "cli" : /^@reporthook\/([^/]+)/.exec(specifier)?.[1];

const arrows = new Map(
  packages.map((name) => {
    const targets = fileList(name).flatMap((file) =>
      importsOf(file).map(({ from }) => {
        const other = from.startsWith(".")
          ? relative(packagesDir, resolve(file, "..", from)).split("/")[0]
          : packageOf(from);
        return other === name ? undefined : other;
      }),
    );
    return [name, [...new Set(targets)].filter((target) => target !== undefined)] as const;
  }),
);

describe("packages", () => {
  it.each(packages)("the package %s imports only what the table allows", (name) => {
    expect(Object.keys(mayImport), `${name} is missing in the table`).toContain(name);
    for (const target of arrows.get(name) ?? []) expect(mayImport[name]).toContain(target);
  });

  it("the imports of a package are found", () => {
    expect(arrows.get("express")).toEqual(["core"]);
  });

  it("the packages form no cycle: an imported package imports nothing, but for the program on top", () => {
    const { cli, ...others } = mayImport;
    for (const name of new Set(Object.values(others).flat())) expect(mayImport[name]).toEqual([]);
    expect(cli).toBe(packages);
  });

  it.each(packages)("the package %s has entries that only re-export by name", (name) => {
    const manifest = JSON.parse(read(join(packagesDir, name, "package.json"))) as {
      exports: Record<string, string | { "@reporthook/source": string }>;
    };
    for (const target of Object.values(manifest.exports)) {
      if (typeof target === "string") continue;
      const file = join(packagesDir, name, target["@reporthook/source"]);
      const code = read(file).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
      const statements = code.split(";").map((statement) => statement.trim());
      for (const statement of statements.filter((text) => text !== "")) {
        expect(statement, file).toMatch(/^export (type )?\{[^}]+\} from "[^"]+"$/);
      }
    }
  });
});

describe("folders", () => {
  const withFolders = packages.filter((name) => foldersOf(name).size > 0);

  it.each(withFolders)("the folders of %s import from folders below them only", (name) => {
    expect(circleIn(foldersOf(name))).toBeNull();
  });

  it("the folders of core import from those after them in ARCHITECTURE.md only", () => {
    const order = [
      "receive",
      "run",
      "handle",
      "verify",
      "reports",
      "options",
      "alerts",
      "observe",
      "health",
      "inbox",
      "events",
      "client",
      "http",
      "callback-urls",
      "lib",
    ];
    const folders = foldersOf("core");
    expect([...folders.keys()].sort()).toEqual([...order].sort());
    const up = [...folders].flatMap(([folder, below]) =>
      [...below]
        .filter((other) => order.indexOf(other) < order.indexOf(folder))
        .map((other) => `${folder} imports from ${other}`),
    );
    expect(up).toEqual([]);
    expect(folders.get("handle")).not.toContain("verify");
  });

  it("the folders of sqlite's two threads share a protocol, and import nothing from each other", () => {
    const folders = foldersOf("sqlite");
    const threads = ["main-thread", "writer-thread"];
    for (const thread of threads) {
      expect(folders.get(thread)).toContain("protocol");
      for (const other of threads) expect(folders.get(thread)).not.toContain(other);
    }
    for (const below of ["protocol", "database"]) {
      for (const thread of threads) expect(folders.get(below)).not.toContain(thread);
    }
  });

  it("the folders are found, with their imports", () => {
    expect(withFolders).toContain("core");
    expect(foldersOf("core").get("receive")).toContain("verify");
    expect(
      circleIn(
        new Map([
          ["a", new Set(["b"])],
          ["b", new Set(["c"])],
          ["c", new Set(["a"])],
        ]),
      ),
    ).toEqual(["a", "b", "c", "a"]);
  });
});

describe("runtimes", () => {
  const files = fileList("core");
  const nameOf = (file: string): string => relative(join(packagesDir, "core", "src"), file);

  it("the core uses web standards only, outside its entry for node:http", () => {
    const imported = files.flatMap((file) =>
      importsOf(file).map(({ from }) => ({ from, name: nameOf(file) })),
    );
    const foreign = imported.filter(({ from, name }) => !from.startsWith(".") && !isNodeOnly(name));
    expect(foreign).toEqual([]);
    for (const file of files) {
      if (isNodeOnly(nameOf(file))) continue;
      const code = read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
      expect(code, file).not.toMatch(/\bBuffer\b|(?<![.\w])process\.|\brequire\(/);
    }
  });
});

/** The folders of a package's sources, each with those that its files import from, types too. */
function foldersOf(name: string): ReadonlyMap<string, ReadonlySet<string>> {
  const source = join(packagesDir, name, "src");
  const folderOf = (file: string): string | undefined =>
    /^([^/]+)\//.exec(relative(source, file))?.[1];
  const folders = new Map<string, Set<string>>();
  for (const file of fileList(name)) {
    const folder = folderOf(file);
    if (folder === undefined) continue;
    const below = folders.get(folder) ?? new Set();
    folders.set(folder, below);
    for (const { from } of importsOf(file)) {
      const other = from.startsWith(".") ? folderOf(resolve(file, "..", from)) : undefined;
      if (other !== undefined && other !== folder) below.add(other);
    }
  }
  return folders;
}

/** A way from a folder back to itself, if there is one. */
function circleIn(folders: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const walk = (folder: string, way: readonly string[]): string[] | null => {
    const at = way.indexOf(folder);
    if (at >= 0) return [...way.slice(at), folder];
    for (const next of folders.get(folder) ?? []) {
      const circle = walk(next, [...way, folder]);
      if (circle !== null) return circle;
    }
    return null;
  };
  for (const folder of folders.keys()) {
    const circle = walk(folder, []);
    if (circle !== null) return circle;
  }
  return null;
}
