type Later = (callback: () => void, ms?: number) => unknown;

interface RealTimers {
  /** The `setImmediate` of the runtime; undefined where there is none, or tests had replaced it before this package was loaded. */
  readonly immediate: Later | undefined;
  /** Calls back after `ms` milliseconds; in another turn of the event loop where tests had replaced the timers. */
  readonly later: Later;
}

/** The timers of the runtime, even if a test runner has replaced them. */
export const realTimers: RealTimers = /* @__PURE__ */ findTimers();

function findTimers(): RealTimers {
  const { setImmediate, setTimeout, MessageChannel } = globalThis;
  const immediate =
    setImmediate === undefined || isReplaced(setImmediate) ? undefined : setImmediate;
  const isStuck = isReplaced(setTimeout as Later) && MessageChannel !== undefined;
  return { immediate, later: isStuck ? inAnotherTurn : (setTimeout as Later) };
}

/** Whether a timer is a test runner's: Sinon, Jest and Vitest mark theirs, that of node:test is a bound private method. */
export function isReplaced(timer: Later): boolean {
  return "clock" in timer || "_isMockFunction" in timer || timer.name.startsWith("bound #");
}

function inAnotherTurn(callback: () => void): void {
  const { port1, port2 } = new MessageChannel();
  const onmessage = (): void => {
    port1.close();
    callback();
  };
  Object.assign(port1, { onmessage });
  port2.postMessage(null);
}
