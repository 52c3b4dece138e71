import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { bookedOnce } from "../docs/exactly-once/booked.ts";
import { rows, shopOf, withSqlite } from "../docs/exactly-once/page.ts";
import { runtimes } from "./runtimes.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const row = rows.find(({ run }) => run.includes("prepare"));
// better-sqlite3 has no program for Node 20.
const nodes = runtimes.filter(({ name }) => /^Node 2[2-9]/.test(name));

/** A program that books as handlers do with the page's code, and prints how often each event is booked. */
function programOf(driver: string, path: string): string {
  if (row === undefined) throw new Error("docs/exactly-once.md has no row for SQLite");
  return `import { onceTable } from "@reporthook/core";
    import { booked } from "../docs/exactly-once/booked.ts";
    ${withSqlite(shopOf(row), driver, path)}
    for (const sql of [onceTable, "CREATE TABLE bookings (event TEXT)"]) db.exec(sql);
    const bookings = db.prepare("SELECT event FROM bookings WHERE event = ?");
    const count = async (event: string) => bookings.all(event).length;
    console.log(JSON.stringify(await booked({ book, close }, count)));
    await close();`;
}

describe.each(nodes)("$name", ({ command: [node] }) => {
  test.each(["better-sqlite3", "node:sqlite"])(
    "a transaction of %s books once, as docs/exactly-once.md has it",
    async (driver) => {
      const folder = await mkdtemp(join(tmpdir(), "exactly-once-"));
      const outfile = join(here, "dist", `exactly-once-${driver.replace(":", "-")}.mjs`);
      await build({
        stdin: {
          contents: programOf(driver, join(folder, "shop.db")),
          loader: "ts",
          resolveDir: here,
        },
        outfile,
        bundle: true,
        format: "esm",
        platform: "node",
        logLevel: "warning",
        external: ["better-sqlite3"],
        conditions: ["@reporthook/source"],
      });
      const { stdout } = await promisify(execFile)(node, [outfile]);
      expect(JSON.parse(stdout)).toEqual(bookedOnce);
      await rm(folder, { recursive: true });
    },
  );
});
