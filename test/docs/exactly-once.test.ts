import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createClient, createReceiver, memoryInbox, onceTable } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { loadDriver } from "@reporthook/sqlite/internals";
import { missingForPostgres } from "@reporthook/test-support/embedded-postgres";
import { testWith } from "@reporthook/test-support/needs";
import { type Server, startPostgres } from "@reporthook/test-support/servers";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { build } from "esbuild";
import { Client, type Pool } from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { booked, bookedOnce } from "./exactly-once/booked.ts";
import {
  outboxOnPg,
  type Row,
  registration,
  rows,
  type Shop,
  shopOf,
  withSqlite,
} from "./exactly-once/page.ts";
import { programFolder } from "./page.ts";
import { compile } from "./readme/compile.ts";

const onPostgres = rows.filter(({ run }) => !run.includes("prepare"));
const [onSqlite] = rows.filter(({ run }) => run.includes("prepare"));
const { library: ofSqlite = "" } = onSqlite ?? {};
const libraries = ofSqlite.split(", ");
const tables = [onceTable, "CREATE TABLE IF NOT EXISTS bookings (event TEXT, report TEXT)"];

const folder = await programFolder();
const data = temporaryFolder();

/** Loads code of the page. */
async function load(code: string): Promise<unknown> {
  const file = join(folder, `${Math.random()}.mjs`);
  await build({
    stdin: { contents: code, loader: "ts", resolveDir: folder },
    outfile: file,
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "warning",
    conditions: ["@reporthook/source"],
    external: ["pg", "postgres", "drizzle-orm", "kysely", "knex", "@prisma/*", "libsql"],
  });
  return import(pathToFileURL(file).href);
}

test("every library of the contract is in the table of the page", () => {
  expect([...onPostgres.map(({ library }) => library), ...libraries]).toEqual([
    "pg",
    "postgres.js",
    "Drizzle (PostgreSQL)",
    "Kysely",
    "Knex",
    "Prisma",
    "better-sqlite3",
    "libsql",
    "node:sqlite",
  ]);
});

test("the lambdas of the page compile with the types of their libraries", async () => {
  for (const [index, row] of rows.entries()) {
    await writeFile(join(folder, `${index}.ts`), shopOf(row));
  }
  expect(await compile(folder, ["*.ts"])).toBe("");
});

describe("on PostgreSQL", () => {
  const missing = missingForPostgres();
  let server: Server;
  let client: Client;
  beforeAll(async () => {
    if (missing !== null) return;
    server = await startPostgres();
    process.env["DATABASE_URL"] = server.url;
    client = new Client({ connectionString: server.url });
    await client.connect();
    for (const sql of tables) await client.query(sql);
  });
  afterAll(async () => {
    delete process.env["DATABASE_URL"];
    if (missing !== null) return;
    // A pool of pg has ended before its connections have.
    const others =
      "SELECT 1 FROM pg_stat_activity WHERE client_port > 0 AND pid <> pg_backend_pid()";
    await vi.waitFor(async () => expect((await client.query(others)).rowCount).toBe(0), 60_000);
    await client.end();
    await server.stop();
  });
  const count = async (event: string): Promise<number> => {
    const { rowCount } = await client.query("SELECT 1 FROM bookings WHERE event = $1", [event]);
    return rowCount ?? 0;
  };

  for (const row of onPostgres) {
    const { library } = row;
    testWith(missing)(`a transaction of ${library} books once, as the page has it`, async () => {
      for (const table of ["reporthook_once", "bookings"]) await client.query(`TRUNCATE ${table}`);
      const shop = (await load(shopOf(row))) as Shop;
      try {
        expect(await booked(shop, count)).toEqual(bookedOnce);
      } finally {
        await shop.close();
      }
    });
  }

  testWith(missing)("a handler of the page books once, also when it runs again", async () => {
    const { bookReports, pool: ofPage } = (await load(`${registration}\nexport { pool };`)) as {
      readonly bookReports: (receiver: unknown) => void;
      readonly pool: Pool;
    };
    const emulator = createEmulator();
    const receiver = createReceiver({
      client: createClient(emulator.clientOptions),
      inbox: memoryInbox(),
    });
    bookReports(receiver);
    try {
      const sent = emulator.notification("report.complete", { reportId: "r-1" });
      await receiver.fetch(new Request("http://app.test/", sent));
      await receiver.idle();
      const [{ id } = { id: "" }] = await receiver.inbox.list({ state: "handled" });
      expect(await count(id)).toBe(1);
      expect(await receiver.inbox.release(id)).toBe(1);
      await receiver.idle();
      expect(await count(id)).toBe(1);
    } finally {
      await receiver.close();
      await ofPage.end();
    }
  });

  testWith(missing)("the outbox of the page sends each row, again after an error", async () => {
    const page = (await load(outboxOnPg)) as {
      sendNext(send: (id: string, mail: string) => Promise<void>): Promise<boolean>;
      close(): Promise<void>;
    };
    await client.query("CREATE TABLE outbox (id TEXT PRIMARY KEY, mail TEXT NOT NULL)");
    await client.query("INSERT INTO outbox VALUES ('e-1', 'to 1'), ('e-2', 'to 2')");
    const sent: string[] = [];
    const send = async (id: string, mail: string): Promise<void> => {
      sent.push(`${id} ${mail}`);
      if (sent.length === 1) throw new Error("no answer");
    };
    try {
      await expect(page.sendNext(send)).rejects.toThrow("no answer");
      // Each takes another row.
      expect(await Promise.all([page.sendNext(send), page.sendNext(send)])).toEqual([true, true]);
      expect(await page.sendNext(send)).toBe(false);
      expect(sent.slice(1).sort()).toEqual(["e-1 to 1", "e-2 to 2"]);
    } finally {
      await page.close();
    }
  });
});

describe("on SQLite", () => {
  // test/runtimes has the others, each with a Node for it.
  const here = ["libsql", ...(process.getBuiltinModule("node:sqlite") ? ["node:sqlite"] : [])];
  for (const library of here) {
    test(`a transaction of ${library} books once, as the page has it`, async () => {
      const path = join(data, `${library.replace(":", "-")}.db`);
      const db = loadDriver(library).open(path);
      for (const sql of tables) db.exec(sql);
      const counting = db.prepare("SELECT count(*) AS n FROM bookings WHERE event = ?");
      const shop = (await load(withSqlite(shopOf(onSqlite as Row), library, path))) as Shop;
      try {
        const count = async (event: string) => Number(counting.get(event)?.["n"]);
        expect(await booked(shop, count)).toEqual(bookedOnce);
      } finally {
        await shop.close();
        db.close();
      }
    });
  }
});
