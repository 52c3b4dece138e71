import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const prefix = "reporthook-tests-";

/** Gives a run its own folder of temporary files, and deletes it at the end: nothing is left. */
export default function setup(): () => void {
  // Called for each project of a run: in folders within folders, the paths of sockets would be too long.
  if (basename(tmpdir()).startsWith(prefix)) return () => {};
  const folder = mkdtempSync(join(tmpdir(), prefix));
  // PostgreSQL runs as another user, who has a folder in it.
  chmodSync(folder, 0o711);
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
