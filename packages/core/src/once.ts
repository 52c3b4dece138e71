import { systemClock } from "./lib/time/clock.ts";
import { assertDate, inspect } from "./lib/validate.ts";

/** The rows of a statement, in the two forms in which drivers and query builders return them. */
export type SqlRows = readonly unknown[] | { readonly rows: readonly unknown[] };

const ofSqlite = "(sql) => db.prepare(sql).all()";
const ofPrisma = "(sql) => tx.$queryRawUnsafe(sql)";
const ofEach = `with pg: (sql) => tx.query(sql); postgres.js: (sql) => tx.unsafe(sql); Drizzle: (sql) => tx.execute(sql); Kysely: (sql) => tx.executeQuery(CompiledQuery.raw(sql)); Knex: (sql) => tx.raw(sql); Prisma: ${ofPrisma}; better-sqlite3, node:sqlite, libsql: ${ofSqlite}`;

/**
 * The `CREATE TABLE IF NOT EXISTS` for {@link once}, for PostgreSQL and SQLite: run it as one of your migrations.
 *
 * @example await pool.query(onceTable);
 */
export const onceTable: string =
  "CREATE TABLE IF NOT EXISTS reporthook_once (event VARCHAR(100) NOT NULL, effect VARCHAR(64) NOT NULL, done_at_ms BIGINT NOT NULL, PRIMARY KEY (event, effect))";

/**
 * Makes the `DELETE` for what {@link once} recorded before a moment: an event that is handled again later than that has its
 * effects again, so keep more than the inbox keeps deliveries.
 *
 * @throws TypeError for anything but a valid Date
 * @example await pool.query(oncePrune(new Date(Date.now() - 90 * 86_400_000)));
 */
export function oncePrune(before: Date): string {
  assertDate("oncePrune: before", before);
  return `DELETE FROM reporthook_once WHERE done_at_ms < ${Number(before)}`;
}

/**
 * Records an effect of an event as the first statement of your transaction; resolves to whether it is the first time. If it is
 * not, leave out the rest of the transaction. A rollback or a crash takes the record back with the rest.
 *
 * `run` executes SQL without parameters in that transaction and returns the rows. `event` is the event, or a text of 1 to 100
 * letters, digits and `_.:-`; `effect`, of 1 to 64 of them, names what is done. Rejects with a TypeError for anything else,
 * before `run` is called, and when `run` returns no rows.
 *
 * @example
 * await sql.begin(async (tx) => {
 *   if (!(await once((text) => tx.unsafe(text), event, "book"))) return;
 *   await tx`INSERT INTO bookings (report) VALUES (${event.reportId})`;
 * });
 */
export async function once(
  run: (sql: string) => SqlRows | PromiseLike<SqlRows>,
  event: string | { readonly id: string },
  effect: string,
): Promise<boolean> {
  if (typeof run !== "function") {
    throw new TypeError(`once: run must be a function, not ${inspect(run)}. ${ofEach}`);
  }
  const id = (event as { readonly id?: unknown } | null | undefined)?.id ?? event;
  const key = literal("event must be an event, or a text", id, 100);
  const name = literal("effect must be a text", effect, 64);
  const into = "INSERT INTO reporthook_once (event, effect, done_at_ms)";
  const answer: unknown = await run(
    `${into} VALUES (${key}, ${name}, ${Math.floor(systemClock.now())}) ON CONFLICT DO NOTHING RETURNING event`,
  );
  const rows = Array.isArray(answer) ? answer : (answer as { rows?: unknown } | null)?.rows;
  // Two are no rows of this INSERT, but such as [rows, details].
  if (Array.isArray(rows) && rows.length < 2) return rows.length === 1;
  const given = Array.isArray(rows) ? `${rows.length} rows` : inspect(answer);
  const isSqlite = ["changes", "prepare", "all", "event"].some((one) => one in Object(answer));
  const way = isSqlite ? ofSqlite : typeof answer === "number" ? ofPrisma : ofEach;
  throw new TypeError(`once: run must return the row or none, not ${given}. Write ${way}`);
}

/** A text in the quotes of SQL; throws a TypeError unless it is made of characters that mean nothing there. */
function literal(what: string, text: unknown, most: number): string {
  const isSafe = typeof text === "string" && text.length <= most && /^[\w.:-]+$/.test(text);
  if (isSafe) return `'${text}'`;
  throw new TypeError(
    `once: ${what} of 1 to ${most} of A-Z, a-z, 0-9 and _ . : -, not ${inspect(text)}`,
  );
}
