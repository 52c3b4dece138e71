import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { promisify } from "node:util";

/** One file of declarations, as tsc writes it. */
interface Declarations {
  /** The text of each top-level declaration by its name; overloads joined. */
  readonly declared: ReadonlyMap<string, string>;
  /** Where a name comes from: the file that declares it, by the name it has there. */
  readonly imported: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
}

/** Writes the declarations of the sources of `folder` and resolves to what reads them. */
export async function declarationsOf(root: string, folder: string): Promise<PublicNames> {
  const out = await mkdtemp(join(root, "node_modules", ".declarations-"));
  const config = join(out, "tsconfig.json");
  const compilerOptions = {
    noEmit: false,
    emitDeclarationOnly: true,
    removeComments: true,
    rootDir: relative(out, folder),
    outDir: ".",
  };
  const include = [join(relative(out, folder), "**/*.ts")];
  const exclude = [join(relative(out, folder), "**/*.test.ts")];
  const extended = { extends: "../../tsconfig.json", compilerOptions, include, exclude };
  await writeFile(config, JSON.stringify(extended));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  try {
    await promisify(execFile)(process.execPath, [tsc, "--project", config]);
    return new PublicNames(out);
  } catch (error) {
    throw new Error(`tsc: ${(error as { stdout?: string }).stdout}`);
  }
}

/** The exports of one package's entries, with signatures. */
export class PublicNames {
  readonly #folder: string;
  readonly #told = new Set<string>();
  readonly #read = new Map<string, Declarations>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Everything an entry exports, then what its signatures name and no entry asked for so far exports; each in order of
   * the alphabet.
   */
  of(entry: string): { readonly exported: string[]; readonly named: string[] } {
    const { imported } = this.#declarations(join(this.#folder, entry.replace(/\.ts$/, ".d.ts")));
    const seen = this.#told;
    const texts = new Map([...imported].map(([as, from]) => [as, this.#find(from, seen)]));
    const named = new Map<string, string>();
    for (const { file, text } of [...texts.values()]) this.#follow(file, text, seen, named);
    const sorted = (all: Iterable<readonly [string, string]>): string[] =>
      [...all].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
    return {
      exported: sorted([...texts].map(([as, { text }]) => [as, text.replace(/^export /gm, "")])),
      named: sorted([...named].map(([name, text]) => [name, text.replace(/^export /gm, "")])),
    };
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }

  #find(from: { file: string; name: string }, seen: Set<string>): { file: string; text: string } {
    const { declared, imported } = this.#declarations(from.file);
    const text = declared.get(from.name);
    seen.add(`${from.file}#${from.name}`);
    if (text !== undefined) return { file: from.file, text };
    const next = imported.get(from.name);
    if (next === undefined) throw new Error(`${from.file} declares no ${from.name}`);
    return this.#find(next, seen);
  }

  #follow(file: string, text: string, seen: Set<string>, named: Map<string, string>): void {
    const { declared, imported } = this.#declarations(file);
    for (const [name = ""] of text.replace(/"[^"]*"/g, "").matchAll(/[A-Za-z_$][\w$]*/g)) {
      const from = declared.has(name) ? { file, name } : imported.get(name);
      if (from === undefined || seen.has(`${from.file}#${from.name}`)) continue;
      const found = this.#find(from, seen);
      named.set(name, found.text);
      this.#follow(found.file, found.text, seen, named);
    }
  }

  #declarations(file: string): Declarations {
    const known = this.#read.get(file);
    if (known !== undefined) return known;
    const declared = new Map<string, string>();
    const imported = new Map<string, { file: string; name: string }>();
    for (const statement of readFileSync(file, "utf8").split(/\n(?=[a-z])/)) {
      const [, list, from] =
        /^(?:import|export) .*?\{(.*)\} from "(\.[^"]+)";/s.exec(statement) ?? [];
      for (const item of list?.split(",") ?? []) {
        const [name = "", as = name] = item
          .trim()
          .replace(/^type /, "")
          .split(" as ");
        const target = resolve(file, "..", from ?? "").replace(/\.ts$/, ".d.ts");
        if (name !== "") imported.set(as, { file: target, name });
      }
      const [, name] = declaration.exec(statement) ?? [];
      const earlier = declared.get(name ?? "");
      const text = statement.replace(/\/\/# sourceMappingURL.*/, "").trim();
      if (name !== undefined) declared.set(name, earlier ? `${earlier}\n${text}` : text);
    }
    const read = { declared, imported };
    this.#read.set(file, read);
    return read;
  }
}

const declaration =
  /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|let|enum) ([\w$]+)/;
