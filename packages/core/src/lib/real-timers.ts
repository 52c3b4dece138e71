type Later = (callback: () => void, ms?: number) => unknown;

const { setImmediate, setTimeout, MessageChannel } = globalThis;

/** Whether a timer is the runtime's. Sinon, Jest and Vitest mark theirs, that of node:test has another name. */
function isReal(timer: Later | undefined, name: string): boolean {
  if (timer === undefined || timer.name !== name) return false;
  return !("clock" in timer || "_isMockFunction" in timer);
}

/** The `setImmediate` of the runtime; undefined where there is none, or tests had replaced it before this package was loaded. */
export const realImmediate: Later | undefined = isReal(setImmediate, "setImmediate")
  ? setImmediate
  : undefined;

/** Calls back after `ms` milliseconds of real time; in another turn of the event loop where tests had replaced the timers. */
export const later: Later = isReal(setTimeout as Later, "setTimeout")
  ? (setTimeout as Later)
  : (callback) => {
      if (MessageChannel === undefined) return queueMicrotask(callback);
      const { port1, port2 } = new MessageChannel();
      const onmessage = (): void => {
        port1.close();
        callback();
      };
      Object.assign(port1, { onmessage });
      port2.postMessage(null);
    };
