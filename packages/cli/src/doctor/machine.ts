import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import type { Check } from "./checks.ts";

const file = "inbox.db";
// Of git check-ignore; it is another one if there is no repository, or no git.
const notIgnored = 1;

/** Warns if git may take the inbox file of this folder into a commit; else null. */
export function checkIgnored(folder: string): Check | null {
  if (!existsSync(`${folder}/${file}`)) return null;
  const { status } = spawnSync("git", ["check-ignore", "--quiet", file], { cwd: folder });
  if (status !== notIgnored) return null;
  const says = `git does not ignore ${file}, which contains notifications`;
  const fix = "Keep it out of commits.";
  return { name: "git", result: "warn", says, fix, type: `echo '${file}*' >> .gitignore` };
}
