import type { BullmqSettings } from "./settings.ts";

/** A replica is left at most this often, so that its refusals are reported meanwhile. */
const leaveMs = 1_000;

/** The options of a connection of Redis, with which it is made again as long as the inbox is open. */
export function lasting(given: BullmqSettings["connection"]): Record<string, unknown> {
  const names = ["retryStrategy", "sentinelRetryStrategy"] as const;
  const strategies = names.map((name) => [name, unending(given[name])]);
  return { ...leaveReplica(), ...given, ...Object.fromEntries(strategies) };
}

/** The delays of a strategy; where it has none ioredis would give up, and the inbox would fail for good. */
function unending(given: unknown): (times: number) => number {
  return (times) => {
    const ms: unknown = typeof given === "function" ? given(times) : null;
    return typeof ms === "number" ? ms : Math.min(times * 100, 1_000);
  };
}

/** Leaves a server that became a replica, once a second: after a failover its address may lead to the new one. */
function leaveReplica(): { reconnectOnError(error: Error): boolean } {
  let at = performance.now();
  return {
    reconnectOnError({ message }) {
      const now = performance.now();
      if (!message.includes("READONLY") || now - at < leaveMs) return false;
      at = now;
      return true;
    },
  };
}
