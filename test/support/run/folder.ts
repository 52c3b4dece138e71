import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives a run its own folder of temporary files, and deletes it at the end: nothing is left. */
export default function setup(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-tests-"));
  // PostgreSQL runs as another user, who has a folder in it.
  chmodSync(folder, 0o711);
  process.env["TMPDIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
