import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/**
 * Gives a run its own folder of temporary files, and deletes it at the end: nothing is left. In it is the code of SQLite's thread,
 * which is built once for all processes of the run, unless sources may change meanwhile.
 */
export default function setup({ config }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-tests-"));
  // PostgreSQL runs as another user, who has a folder in it.
  chmodSync(folder, 0o711);
  process.env["TMPDIR"] = folder;
  if (!config.watch) process.env["REPORTHOOK_THREAD_CODE"] = join(folder, "thread.cjs");
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
