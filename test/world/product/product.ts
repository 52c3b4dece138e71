import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "vite";
import { type Planted, plant } from "./plant.ts";
import { compile, type Script } from "./realm.ts";

/** A fault in the product: in one of its files, by the name of what it is in. */
export interface Mutation extends Planted {
  readonly name: string;
  /** From the workspace's root on. */
  readonly file: string;
  /** A world that noticed it, where that takes a rare coincidence. */
  readonly seed?: number;
  /** Whether it is noticed in a world in which reports are asked for. */
  readonly asksForReports?: true;
}

/** The product as it is, or with a fault: what runs in the process, and in the inbox' thread. */
export interface Product {
  readonly app: Script;
  readonly thread: Script;
}

const pathOf = (file: string): string =>
  fileURLToPath(new URL(`../../../${file}`, import.meta.url));

/** The paths that the two scripts are given: imports from their own folder are found there. */
export const appFile: string = pathOf("packages/sqlite/src/index.ts");
export const threadFile: string = pathOf("packages/sqlite/src/writer-thread.ts");
const threadCodeFile = pathOf("packages/sqlite/src/thread-code.ts");

/** The file of a mutation with its fault in it. Throws if the file has no such function. */
export function mutated(mutation: Mutation): string {
  return plant(readFileSync(pathOf(mutation.file), "utf8"), mutation);
}

/** Builds the product from its sources. */
export async function buildProduct(mutation?: Mutation): Promise<Product> {
  if (mutation !== undefined) mutated(mutation);
  const [app, thread] = await Promise.all([
    bundle(pathOf("test/world/product/product-entry.ts"), mutation),
    bundle(pathOf("packages/sqlite/src/writer-thread.ts"), mutation),
  ]);
  return { app: compile(app, appFile), thread: compile(thread, threadFile) };
}

async function bundle(entry: string, mutation: Mutation | undefined): Promise<string> {
  const conditions = ["@reporthook/source", "node", "import", "default"];
  const result = await build({
    configFile: false,
    logLevel: "error",
    root: pathOf(""),
    plugins: [withoutThread, ...(mutation === undefined ? [] : [mutate(mutation)])],
    resolve: { conditions },
    ssr: { noExternal: true, resolve: { conditions } },
    build: {
      ssr: entry,
      write: false,
      minify: false,
      target: "es2023",
      rolldownOptions: { output: { format: "cjs", codeSplitting: false } },
    },
  });
  const outputs = [result].flat().flatMap((one) => ("output" in one ? one.output : []));
  const [chunk] = outputs;
  if (outputs.length !== 1 || chunk?.type !== "chunk") throw new Error(`${entry} is not one chunk`);
  return chunk.code;
}

/** The thread that an app starts is one of the world's, which has its code: the app does not build it at each start. */
const withoutThread: Plugin = {
  name: "without thread",
  enforce: "pre",
  load: (id) => (id === threadCodeFile ? 'export const threadCode = () => "";' : null),
};

function mutate(mutation: Mutation): Plugin {
  const path = pathOf(mutation.file);
  return {
    name: "mutate",
    enforce: "pre",
    transform: (code, id) => (id === path ? plant(code, mutation) : null),
  };
}
