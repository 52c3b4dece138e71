import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { ReporthookError } from "@reporthook/core";
import { type SqliteEngine, sqliteEngine } from "@reporthook/sqlite";
import { type Check, pass } from "./checks.ts";

const name = "SQLite";
const file = "inbox.db";
// Of git check-ignore; it is another one if there is no repository, or no git.
const notIgnored = 1;

/** Checks the SQLite that an inbox of this machine, in this folder, would use. */
export function checkSqlite(): Check {
  try {
    return checkEngine(sqliteEngine());
  } catch (error) {
    if (!(error instanceof ReporthookError)) throw error;
    const fix = "Install one, unless the app's inbox is not a file.";
    return { name, result: "warn", says: error.message, fix, type: "npm install libsql" };
  }
}

/** Checks a version of SQLite for the WAL-reset bug. */
export function checkEngine({ driver, version, hasWalResetBug }: SqliteEngine): Check {
  const what = `${version} here (${driver}, Node ${process.versions.node})`;
  if (!hasWalResetBug) return pass(name, `${what}, without the WAL-reset bug`);
  return {
    ...{ name, result: "warn" },
    says: `${what} has the WAL-reset bug. An inbox avoids it, but deliveries may be lost if another program writes to the file`,
    fix: "Let no other program write to it, and update to Node 22.22.3, 24.15 or later.",
    type: "nvm install 24",
  };
}

/** Warns if git may take the inbox file of this folder into a commit; else null. */
export function checkIgnored(folder: string): Check | null {
  if (!existsSync(`${folder}/${file}`)) return null;
  const { status } = spawnSync("git", ["check-ignore", "--quiet", file], { cwd: folder });
  if (status !== notIgnored) return null;
  return {
    ...{
      name: "git",
      result: "warn",
      says: `git does not ignore ${file}, which contains notifications`,
    },
    fix: "Keep it out of commits.",
    type: `echo '${file}*' >> .gitignore`,
  };
}
