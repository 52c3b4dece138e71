import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { Skipped } from "./benchmark.ts";

/** The environment in which every fsync takes `ms` more, by a library built into `folder`. */
export function slowFsync(folder: string, ms: number): Record<string, string> {
  if (process.platform !== "linux") throw new Skipped("LD_PRELOAD works on Linux only");
  const library = join(folder, "slow-fsync.so");
  const source = join(import.meta.dirname, "..", "slow-fsync.c");
  const { error, status, stderr } = spawnSync(
    "gcc",
    ["-shared", "-fPIC", "-O2", "-o", library, source],
    { encoding: "utf8" },
  );
  if (error !== undefined) throw new Skipped("there is no gcc to build slow-fsync.c with");
  if (status !== 0) throw new Skipped(`gcc can't build slow-fsync.c: ${stderr}`);
  return { LD_PRELOAD: library, SLOW_FSYNC_US: String(ms * 1_000) };
}
