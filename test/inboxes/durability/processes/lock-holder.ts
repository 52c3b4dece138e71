import { loadDriver } from "@reporthook/sqlite/internals";

// Another process, which holds the lock for writing until it is told to release it.
const database = loadDriver().open(process.argv[2] ?? "");
database.exec("PRAGMA busy_timeout = 10000");
process.on("message", (what) => {
  database.exec(what === "hold" ? "BEGIN IMMEDIATE" : "ROLLBACK");
  process.send?.(what);
});
process.on("disconnect", () => process.exit());
process.send?.("started");
