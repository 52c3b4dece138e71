import { fileURLToPath } from "node:url";
import manifest from "./package.json" with { type: "json" };

/** A suite that the packages have to pass on a runtime, run by one program. */
export type Suite =
  | "receiver.fetch"
  | "own server"
  | "Hono"
  | "node:http"
  | "Express"
  | "Koa"
  | "memory inbox"
  | "SQLite inbox"
  | "emulator";

/** A runtime, and what runs there. */
export interface Runtime {
  readonly name: string;
  /** The program and its first arguments. */
  readonly command: readonly [string, ...string[]];
  readonly kind: "server" | "worker";
  readonly suites: readonly Suite[];
  /** The promise of an acknowledgement there. */
  readonly promise: string;
}

const at = (path: string): string =>
  fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));
const versions: Record<string, string> = manifest.dependencies;
const version = (name: string): string => versions[name]?.replace(/^npm:.*@/, "") ?? "";

const everywhere = ["receiver.fetch", "Hono", "memory inbox"] as const;
const onNode = [
  ...everywhere,
  ...(["own server", "Express", "Koa", "SQLite inbox", "emulator"] as const),
];
const onDisk = "on the disk (`sqliteInbox`)";

function node(name: string, driver: string): Runtime {
  return {
    name: `Node ${version(name)}`,
    command: [at(`${name}/bin/node`)],
    kind: "server",
    suites: onNode,
    promise: `${onDisk}, ${driver}`,
  };
}

/** Every runtime of docs/frameworks.md. */
export const runtimes: readonly Runtime[] = [
  node("node20", "with `libsql`"),
  node("node22", "with Node's SQLite"),
  node("node24", "with Node's SQLite"),
  node("node26", "with Node's SQLite"),
  {
    name: `Bun ${version("bun")}`,
    command: [at(".bin/bun")],
    kind: "server",
    suites: [...onNode, "node:http"],
    promise: `${onDisk}, with its \`node:sqlite\``,
  },
  {
    name: `Deno ${version("deno")}`,
    command: [at(".bin/deno"), "run", "--allow-all"],
    kind: "server",
    suites: [...onNode, "node:http"],
    promise: `${onDisk}, with its \`node:sqlite\``,
  },
  {
    name: `workerd ${version("workerd")}`,
    command: [at(".bin/workerd"), "serve"],
    kind: "worker",
    suites: everywhere,
    promise: '`ack: "handled"`: handled; `acceptLoss`: in memory, may be lost',
  },
];
