import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";

/** Starts a program in a new process group: a program from the registry may be a launcher, whose child is the runtime. */
export function launch(command: readonly string[], options: SpawnOptions): ChildProcess {
  const [program = "", ...args] = command;
  return spawn(program, args, { ...options, detached: true });
}

const patienceMs = 10_000;

/** Ends a program with all that it has started; by force when it takes over 10 seconds. */
export async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  const group = -child.pid;
  process.kill(group, "SIGTERM");
  const force = setTimeout(() => process.kill(group, "SIGKILL"), patienceMs);
  await ended;
  clearTimeout(force);
}
