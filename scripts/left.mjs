import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Ends what still runs of a session (Linux) 10 seconds after its leader has ended, and returns the command lines.
 *
 * @param {number} session
 * @returns {Promise<string[]>}
 */
export async function endLeft(session, patienceMs = 10_000) {
  const begin = performance.now();
  let left = running(session);
  while (left.length > 0 && performance.now() - begin < patienceMs) {
    await delay(50);
    left = running(session);
  }
  for (const { pid } of left) process.kill(pid, "SIGKILL");
  return left.map(({ pid, command }) => `${pid} ${command}`);
}

function running(session) {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).flatMap((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [state, , , of] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (Number(of) !== session || state === "Z") return [];
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      return [{ pid, command }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}
