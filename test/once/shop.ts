// An app that books events, in a separate process: `once` first, then the booking, in one transaction.
import { once } from "@reporthook/core";
import type { Order, ShopOptions, Step, Told } from "./shop-process.ts";

type Rows = { readonly rows: readonly unknown[] } | readonly unknown[];

const { driver, place, begin } = JSON.parse(process.env["ONCE_SHOP"] ?? "") as ShopOptions;
const run = driver === "pg" ? await runOnPostgres() : await runOnSqlite();
const tell = (told: Told): Promise<void> =>
  new Promise((resolve) => process.send?.(told, undefined, undefined, () => resolve()));
let goOn = (): void => {};

async function runOnPostgres(): Promise<(sql: string) => Promise<Rows>> {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: place });
  await client.connect();
  return (sql) => client.query(sql);
}

async function runOnSqlite(): Promise<(sql: string) => Rows> {
  const module = await import(driver);
  const db = new (module.DatabaseSync ?? module.default)(place);
  db.exec("PRAGMA busy_timeout = 5000");
  return (sql) => {
    if (sql.includes("RETURNING")) return db.prepare(sql).all();
    db.exec(sql);
    return [];
  };
}

/** Says where it is, and waits there if it is to be held. */
async function arrive(step: Step, { holdAt }: Order): Promise<void> {
  if (step !== holdAt) return;
  await tell({ at: step });
  // The commit is on its way when the process is killed, or not yet, or done.
  if (step !== "committing") await new Promise<void>((resolve) => (goOn = resolve));
}

async function book(order: Order): Promise<boolean> {
  await run(begin);
  try {
    await arrive("begun", order);
    const isFirst = await once(run, order.event, "book");
    await arrive("recorded", order);
    if (isFirst) await run(`INSERT INTO bookings VALUES ('${order.event}') RETURNING event`);
    await arrive("booked", order);
    await arrive("committing", order);
    await run("COMMIT");
    await arrive("committed", order);
    return isFirst;
  } catch (error) {
    await run("ROLLBACK");
    throw error;
  }
}

process.on("message", (order: Order | "go on") => {
  if (order === "go on") return goOn();
  book(order).then(
    (booked) => tell({ booked }),
    (error) => tell({ failed: String(error.code ?? error) }),
  );
});
process.on("disconnect", () => process.exit());
