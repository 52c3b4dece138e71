import type { VirtualClock } from "../lib/clock.ts";
import type { Faults, FaultTarget } from "../lib/faults.ts";
import { keepAlive } from "../lib/keep-alive.ts";
import { Dropped, Refused, type ServiceReply } from "./answer.ts";
import type { IncomingCall } from "./call.ts";

/** An operation: its path, and its fault target; the emulator's additional one has no target. */
export interface Operation {
  readonly path: string;
  readonly target?: FaultTarget;
  run(call: IncomingCall): Promise<ServiceReply>;
}

/** The service without transport. */
export interface EmulatedService {
  /**
   * Answers one call. Rejects with `Dropped` if the connection should break, and with the reason of
   * the caller's signal if that is aborted.
   */
  answer(call: IncomingCall): Promise<ServiceReply>;
  /** Breaks the connections of all running calls. */
  dropAll(): void;
  /** Breaks the connections of all running and later calls. */
  close(): void;
}

/** Creates the service; every operation is a POST (the service's document, section Endpoints). */
export function createService(
  operations: readonly Operation[],
  clock: VirtualClock,
  faults: Faults,
): EmulatedService {
  const underWay = new Set<AbortController>();
  let closed = false;

  async function perform(call: IncomingCall, signal: AbortSignal): Promise<ServiceReply> {
    const operation = operations.find(({ path }) => path === call.url.pathname);
    if (!operation) {
      const known = operations.map(({ path }) => path).join(", ");
      throw new Refused(404, [`Unknown path. The operations are ${known}.`]);
    }
    if (call.method !== "POST") {
      throw new Refused(405, ["Every operation takes POST only."], { allow: "POST" });
    }
    const { delayMs, drop, status } = (operation.target && faults.take(operation.target)) ?? {};
    if (delayMs) await pause(clock, delayMs, signal);
    if (drop) throw new Dropped("A fault dropped the request.");
    if (status !== undefined) return { status, body: { errors: ["A fault set this status."] } };
    return operation.run({ ...call, signal });
  }

  function dropAll(): void {
    for (const line of underWay) line.abort(new Dropped("The emulator was reset or closed."));
  }

  return {
    async answer(call) {
      if (closed) throw new Dropped("The emulator is closed.");
      const line = new AbortController();
      const hangUp = (): void => line.abort(call.signal.reason);
      underWay.add(line);
      call.signal.addEventListener("abort", hangUp, { once: true });
      if (call.signal.aborted) hangUp();
      try {
        line.signal.throwIfAborted();
        return await keepAlive(unlessAborted(perform(call, line.signal), line.signal));
      } catch (error) {
        if (error instanceof Refused) return error.answer;
        throw error;
      } finally {
        underWay.delete(line);
        call.signal.removeEventListener("abort", hangUp);
      }
    },
    dropAll,
    close() {
      closed = true;
      dropAll();
    },
  };
}

function pause(clock: VirtualClock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(resolve, ms);
    // Already rejected by unlessAborted().
    signal.addEventListener("abort", () => clock.clearTimeout(timer), { once: true });
  });
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}
