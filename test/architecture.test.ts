import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const packagesDir = fileURLToPath(new URL("../packages", import.meta.url));
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
  cli: packages,
};

const steps = [
  "receive/read",
  "receive/store",
  "http/answer",
  "process/authorize",
  "events/recognize",
  "process/handlers",
];
const nodeOnly = ["node.ts", "http/node-handler.ts"];

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
  it.each(packages)("%s imports only what the table allows", (name) => {
    expect(Object.keys(mayImport), `${name} is missing in the table`).toContain(name);
    for (const target of arrows.get(name) ?? []) expect(mayImport[name]).toContain(target);
  });

  it("have imports that are found", () => {
    expect(arrows.get("express")).toEqual(["core"]);
  });

  it("form no cycle: who is imported imports nothing, but for the program on top", () => {
    const { cli, ...others } = mayImport;
    for (const name of new Set(Object.values(others).flat())) expect(mayImport[name]).toEqual([]);
    expect(cli).toBe(packages);
  });

  it.each(packages)("%s has entries that only re-export by name", (name) => {
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

describe("core", () => {
  const files = fileList("core");
  const nameOf = (file: string): string => relative(join(packagesDir, "core", "src"), file);
  const localImports = (file: string): string[] =>
    importsOf(file)
      .filter(({ from, typeOnly }) => from.startsWith(".") && !typeOnly)
      .map(({ from }) => nameOf(resolve(file, "..", from)));

  it("has step files that know nouns, never each other's work", () => {
    for (const step of steps) {
      const file = join(packagesDir, "core", "src", `${step}.ts`);
      const others = localImports(file).map((name) => name.replace(/\.ts$/, ""));
      // What a notification claims to be is recognised by the one function, at receipt too.
      const allowed = step === "receive/read" ? ["events/recognize"] : [];
      expect(
        others.filter((name) => steps.includes(name) && !allowed.includes(name)),
        step,
      ).toEqual([]);
      for (const name of ["receiver", "process/stages", "process/runner"])
        expect(others, step).not.toContain(name);
    }
  });

  it("uses web standards only, outside its entry for node:http", () => {
    const imported = files.flatMap((file) =>
      importsOf(file).map(({ from }) => ({ from, name: nameOf(file) })),
    );
    const foreign = imported.filter(
      ({ from, name }) => !from.startsWith(".") && !nodeOnly.includes(name) && !isTesting(name),
    );
    expect(foreign).toEqual([]);
    for (const file of files) {
      if (nodeOnly.includes(nameOf(file)) || isTesting(nameOf(file))) continue;
      const code = read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
      expect(code, file).not.toMatch(/\bBuffer\b|(?<![.\w])process\.|\brequire\(/);
    }
  });
});

/** The published conformance suites run in Node. */
function isTesting(name: string): boolean {
  return name === "testing.ts" || name.startsWith("testing/");
}
