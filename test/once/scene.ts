import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onceTable } from "@reporthook/core";
import { loadDriver } from "@reporthook/sqlite/internals";
import { missingForPostgres } from "@reporthook/test-support/embedded-postgres";
import { type Server, startPostgres } from "@reporthook/test-support/servers";
import { build } from "esbuild";
import { Client } from "pg";
import { expect, vi } from "vitest";
import { type ShopOptions, ShopProcess } from "./shop-process.ts";

/** A database, and a way to begin a transaction in it. */
export interface Store {
  readonly name: string;
  readonly driver: ShopOptions["driver"];
  readonly begin: string;
  readonly missing: string | null;
}

/** Why no PostgreSQL can be started here, or null. */
export const missing: string | null = missingForPostgres();
/** Every database and isolation level. */
export const stores: readonly Store[] = [
  ...["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].map((level) => ({
    name: `PostgreSQL, ${level.toLowerCase()}`,
    driver: "pg" as const,
    missing,
    begin: `BEGIN ISOLATION LEVEL ${level}`,
  })),
  ...(["libsql", "node:sqlite"] as const)
    // The gate also runs on a Node version that has the driver that this one lacks.
    .filter((name) => name === "libsql" || process.getBuiltinModule(name) !== undefined)
    .map((driver) => ({ name: driver, driver, begin: "BEGIN IMMEDIATE", missing: null })),
];

const bookings = "CREATE TABLE bookings (event VARCHAR(100))";
const root = fileURLToPath(new URL("../..", import.meta.url));

let folder = "";
let program = "";
let server: Server | undefined;

/** Makes the program and starts PostgreSQL. */
export async function open(): Promise<void> {
  // Inside the workspace, so that the program finds the drivers.
  folder = await mkdtemp(join(root, "node_modules", ".once-"));
  program = join(folder, "shop.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("shop.ts", import.meta.url))],
    outfile: program,
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["pg"],
    conditions: ["@reporthook/source"],
  });
  if (missing !== null) return;
  server = await startPostgres();
  const client = await connect();
  for (const sql of [onceTable, bookings]) await client.query(sql);
  await client.end();
}

/** A connection to PostgreSQL, which the caller ends. */
export async function connect(): Promise<Client> {
  const another = new Client({ connectionString: server?.url ?? "" });
  await another.connect();
  return another;
}

/** Ends PostgreSQL and deletes the program. */
export async function close(): Promise<void> {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
}

/** The tools of a test on a store: apps, and a look at the bookings. */
export interface Scene {
  start(): ShopProcess;
  /** How often the events are booked, and how often it is recorded. */
  counts(event: string): Promise<readonly [booked: number, recorded: number]>;
  /** Resolves once a transaction waits for another one, where this can be seen: a waiting process of SQLite says nothing. */
  isWaiting(event: string): Promise<void>;
}

/** Runs a test on a store, with a new file for SQLite; its apps end with it. */
export async function inScene(
  { driver, begin }: Store,
  test: (scene: Scene) => Promise<void>,
): Promise<void> {
  const data = await mkdtemp(join(tmpdir(), "once-"));
  const file = join(data, "shop.db");
  const shops: ShopProcess[] = [];
  const count = (table: string) => `SELECT event FROM ${table} WHERE event = `;
  const client = driver === "pg" ? await connect() : null;
  const db = driver === "pg" ? null : loadDriver(driver).open(file);
  for (const sql of [onceTable, bookings]) db?.exec(sql);
  const rows = async (table: string, event: string): Promise<number> =>
    db?.prepare(`${count(table)}?`).all(event).length ??
    (await client?.query(`${count(table)}$1`, [event]))?.rowCount ??
    0;
  try {
    await test({
      start() {
        const place = driver === "pg" ? (server?.url ?? "") : file;
        const shop = new ShopProcess(program, { driver, place, begin });
        shops.push(shop);
        return shop;
      },
      async isWaiting(event) {
        if (client === null) return;
        const waiting =
          "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
        const some = async () => (await client.query(waiting, [`%'${event}'%`])).rowCount;
        await vi.waitFor(async () => expect(await some()).toBe(1), 60_000);
      },
      counts: async (event) => [
        await rows("bookings", event),
        await rows("reporthook_once", event),
      ],
    });
  } finally {
    await Promise.all(shops.map((shop) => shop.kill()));
    db?.close();
    await client?.end();
    await rm(data, { recursive: true });
  }
}
