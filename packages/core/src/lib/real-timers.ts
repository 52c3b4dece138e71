type Later = (callback: () => void, ms?: number) => unknown;

const { setImmediate, setTimeout, MessageChannel } = globalThis;

/** Whether a timer is a test runner's: Sinon, Jest and Vitest mark theirs, that of node:test is a bound private method. */
function isReplaced(timer: Later): boolean {
  return "clock" in timer || "_isMockFunction" in timer || timer.name.startsWith("bound #");
}

/** The `setImmediate` of the runtime; undefined where there is none, or tests had replaced it before this package was loaded. */
export const realImmediate: Later | undefined =
  setImmediate === undefined || isReplaced(setImmediate) ? undefined : setImmediate;

/** Calls back after `ms` milliseconds of real time; in another turn of the event loop where tests had replaced the timers. */
export const later: Later =
  isReplaced(setTimeout as Later) && MessageChannel !== undefined
    ? inAnotherTurn
    : (setTimeout as Later);

function inAnotherTurn(callback: () => void): void {
  const { port1, port2 } = new MessageChannel();
  const onmessage = (): void => {
    port1.close();
    callback();
  };
  Object.assign(port1, { onmessage });
  port2.postMessage(null);
}
