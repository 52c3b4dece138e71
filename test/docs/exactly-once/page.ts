import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { blocksOf, root } from "../page.ts";

/** A library of the page's table: its transaction and the first argument of `once`, as code. */
export interface Row {
  readonly library: string;
  readonly transaction: string;
  readonly run: string;
}

/** A library as an app sets it up; the page leaves that to its readers. */
interface Setup {
  readonly before: string;
  readonly close: string;
}

const text = await readFile(join(root, "docs/exactly-once.md"), "utf8");
const [ofPg = "", ofSqlite = "", outbox = ""] = (await blocksOf("docs/exactly-once.md")).map(
  ({ code }) => code,
);

/** The rows of the table. */
export const rows: readonly Row[] = [
  ...text.matchAll(/^\| ([^`|]+?) +\| `([^`]+)`[^|]*\| `([^`]+)` +\|$/gm),
].map(([, library = "", transaction = "", run = ""]) => ({ library, transaction, run }));

const pool = 'new Pool({ connectionString: process.env["DATABASE_URL"] })';
const setups: Readonly<Record<string, Setup>> = {
  pg: { before: ofPg, close: "pool.end()" },
  "postgres.js": {
    before: `import postgres from "postgres";
      const sql = postgres(process.env["DATABASE_URL"] ?? "");`,
    close: "sql.end()",
  },
  "Drizzle (PostgreSQL)": {
    before: `import { drizzle } from "drizzle-orm/node-postgres";
      import { Pool } from "pg";
      const pool = ${pool};
      const db = drizzle(pool);`,
    close: "pool.end()",
  },
  Kysely: {
    before: `import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
      import { Pool } from "pg";
      const db = new Kysely<object>({ dialect: new PostgresDialect({ pool: ${pool} }) });`,
    close: "db.destroy()",
  },
  Knex: {
    before: `import makeKnex from "knex";
      const knex = makeKnex({ client: "pg", connection: process.env["DATABASE_URL"] ?? "" });`,
    close: "knex.destroy()",
  },
  Prisma: {
    before: `import { PrismaPg } from "@prisma/adapter-pg";
      import { PrismaClient } from "../../test/docs/exactly-once/prisma-client.ts";
      const prisma = new PrismaClient({
        adapter: new PrismaPg({ connectionString: process.env["DATABASE_URL"] }),
        transactionOptions: { maxWait: 180_000, timeout: 180_000 },
      });`,
    close: "prisma.$disconnect()",
  },
  "better-sqlite3, libsql, node:sqlite": { before: ofSqlite, close: "db.close()" },
};

/** The driver that the page's code for SQLite names. */
const named = 'import Database from "libsql";';

/** The page's code for SQLite with another of its drivers, and with the database in another place. */
export function withSqlite(code: string, driver: string, path: string): string {
  const other = driver === "node:sqlite" ? "{ DatabaseSync as Database }" : "Database";
  return code
    .replace(named, `import ${other} from "${driver}";`)
    .replace('"shop.db"', JSON.stringify(path));
}

/** The exports of a module made of a row. */
export interface Shop {
  /** Books an event in a transaction, which `then` can let fail; resolves once it is committed. */
  book(event: string, then?: () => void): Promise<unknown>;
  close(): Promise<void>;
}

/** A module that makes one transaction as the row says, for a folder in the workspace's `node_modules`. */
export function shopOf({ library, transaction, run }: Row): string {
  const setup = setups[library];
  if (setup === undefined) throw new Error(`How is ${library} set up? Add it to the table`);
  const work = `{
    if (!(await once_((${run}), event, "book"))) return;
    await (${run})("INSERT INTO bookings (event) VALUES ('" + event + "') RETURNING event");
    then();
  }`;
  return `import { once as once_ } from "@reporthook/core";
    ${setup.before}
    export const book = (event: string, then: () => void = () => {}): Promise<unknown> =>
      ${transaction.replace("…", work)};
    export const close = async (): Promise<void> => { await ${setup.close}; };`;
}

/** The page's first block, and the outbox, which uses its transaction. */
export const registration: string = ofPg;
export const outboxOnPg: string = `${ofPg}\n${outbox}\nexport const close = () => pool.end();`;
