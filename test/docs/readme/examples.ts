import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** An `@example` of a doc comment. */
export interface Example {
  /** The module it is compiled as. */
  readonly name: string;
  /** The function or class it is an example of; null for a member. */
  readonly of: string | null;
  /** With what our packages export imported, as a reader would have to. */
  readonly code: string;
}

/** The examples in the sources of one package. A name that several packages export is its own, or else core's. */
export function examplesOf(root: string, name: string): Example[] {
  const packages = [...readdirSync(join(root, "packages")), "core", name];
  const imports = new Map(packages.flatMap((each) => [...exportsOf(root, each)]));
  const folder = join(root, "packages", name, "src");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const examples = sources.flatMap((file) => {
    const text = readFileSync(join(folder, file), "utf8");
    return [...text.matchAll(comment)].flatMap(([, body = "", of = null]) =>
      tagged(body, "example").map((code) => ({ file, of, code })),
    );
  });
  return examples.map(({ file, of, code }, index) => ({
    name: `${name}-${file.replaceAll(/\W/g, "-")}-${index}.ts`,
    of,
    code: `${importsFor(code, imports)}\nexport {};\n${code}\n`,
  }));
}

/** The texts that a comment has under a tag. */
function tagged(comment: string, tag: string): string[] {
  const text = comment.replace(/^ *\* ?/gm, "");
  const parts = text.split(/^@(?=[a-z])/m).slice(1);
  return parts
    .filter((part) => part.startsWith(`${tag} `) || part.startsWith(`${tag}\n`))
    .map((part) => part.slice(tag.length).trim());
}

/** The exports of a package: the entry and the kind by the name. */
export function exportsOf(root: string, name: string): Map<string, Export> {
  const folder = join(root, "packages", name);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const found = new Map<string, Export>();
  for (const [entry, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string" || entry === "./internals") continue;
    const text = readFileSync(join(folder, target["@reporthook/source"]), "utf8");
    for (const [, type, list = ""] of text.matchAll(/^export (type )?\{(.*?)\} from/gms)) {
      for (const item of list.split(",").map((part) => part.trim())) {
        const isType = type !== undefined || item.startsWith("type ");
        const exported = item.replace(/^type /, "");
        if (exported !== "") found.set(exported, { from: manifest.name + entry.slice(1), isType });
      }
    }
  }
  return found;
}

interface Export {
  readonly from: string;
  readonly isType: boolean;
}

interface Manifest {
  readonly name: string;
  readonly exports: Record<string, string | { "@reporthook/source": string }>;
}

const comment =
  /\/\*\*((?:(?!\*\/).)*)\*\/(?:\nexport (?:async )?(?:function|class|const) (\w+))?/gs;

function importsFor(code: string, imports: ReadonlyMap<string, Export>): string {
  const words = new Set(code.match(/[A-Za-z_$][\w$]*/g));
  return [...imports]
    .filter(([name]) => words.has(name))
    .map(([name, { from, isType }]) => `import ${isType ? "type " : ""}{ ${name} } from "${from}";`)
    .join("\n");
}
