import type { Database } from "@reporthook/sqlite/internals";

/** The use of a statement. */
export type StatementUse = "exec" | "prepare" | "run" | "get" | "all";

/** Makes a database that tells of each use of a statement before it; an error of `tell` takes its place. */
export function watched(
  database: Database,
  tell: (sql: string, use: StatementUse) => void,
): Database {
  return {
    close: () => database.close(),
    exec(sql) {
      tell(sql, "exec");
      database.exec(sql);
    },
    prepare(sql) {
      tell(sql, "prepare");
      const statement = database.prepare(sql);
      return {
        run(...values) {
          tell(sql, "run");
          return statement.run(...values);
        },
        get(...values) {
          tell(sql, "get");
          return statement.get(...values);
        },
        all(...values) {
          tell(sql, "all");
          return statement.all(...values);
        },
      };
    },
  };
}
