import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { Skipped } from "./benchmark.ts";
import { type EngineName, pidOf } from "./inboxes.ts";

const groups = "/sys/fs/cgroup";
/** Short, so that a worker that has used up its share does not stand still for long. */
const periodUs = 10_000;
const shareUs = periodUs / 2;

/** How workers and their engine share the machine, for the report. */
export const sharing: string =
  cpus().length > 2
    ? "each worker has a core of its own, and the engine has one"
    : "on two cores each worker has half of the first to itself, whether one works or two, and the engine has the second";

/** Gives one of two workers its share of the machine, and the engine the rest; resolves to what ends it. */
export function shareCores(pid: number, at: number, engine: EngineName): () => void {
  if (cpus().length > 2) {
    pin(pid, at);
    pin(pidOf(engine), 2);
    return () => {};
  }
  pin(pid, 0);
  pin(pidOf(engine), 1);
  return limitToHalf(pid);
}

function pin(pid: number, core: number): void {
  const { error, status } = spawnSync("taskset", ["--all-tasks", "-pc", String(core), String(pid)]);
  if (error || status !== 0) throw new Skipped("taskset can't give a process a core here");
}

function limitToHalf(pid: number): () => void {
  const isSecond = existsSync(`${groups}/cgroup.controllers`);
  const group = `${isSecond ? groups : `${groups}/cpu`}/reporthook-bench-${pid}`;
  try {
    mkdirSync(group);
    const limits = isSecond
      ? { "cpu.max": `${shareUs} ${periodUs}` }
      : { "cpu.cfs_period_us": periodUs, "cpu.cfs_quota_us": shareUs };
    for (const [name, value] of Object.entries(limits))
      writeFileSync(`${group}/${name}`, `${value}`);
    writeFileSync(`${group}/cgroup.procs`, `${pid}`);
  } catch {
    throw new Skipped("two cores, and no right to limit a process to half of one (cgroup)");
  }
  return () => rmdirSync(group);
}
