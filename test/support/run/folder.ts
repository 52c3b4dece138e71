import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives a run a folder of temporary files of its own, and deletes it at the end: nothing is left. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-tests-"));
  // PostgreSQL runs as another user, who has a folder in it.
  chmodSync(folder, 0o711);
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
