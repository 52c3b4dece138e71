import { isTiedToRequests } from "../platform.ts";
import type { Clock } from "./clock.ts";

type Later = (callback: () => void, ms?: number) => unknown;

/** A clock by the timers of the runtime, even if a test runner has replaced them; its `now()` begins with the process. */
interface RealClock extends Clock {
  /** False where tests had replaced the timers before this package was loaded. */
  readonly areReal: boolean;
  /** The `setImmediate` of the runtime; undefined where there is none, or tests had replaced it before this package was loaded. */
  readonly immediate: Later | undefined;
  /** Calls back after `ms` milliseconds; in another turn of the event loop where tests had replaced the timers. */
  readonly later: Later;
}

/** The clock for what must not wait for a virtual one. */
export const realClock: RealClock = /* @__PURE__ */ findClock();

function findClock(): RealClock {
  const { setImmediate, setTimeout, clearTimeout, performance, MessageChannel } = globalThis;
  const areReal = !isReplaced(setTimeout as Later);
  const isStuck = !areReal && MessageChannel !== undefined;
  return {
    now: performance.now.bind(performance),
    setTimeout: (callback, ms) => setTimeout(callback, ms),
    clearTimeout: (timer) => clearTimeout(timer as number),
    areReal,
    immediate: setImmediate === undefined || isReplaced(setImmediate) ? undefined : setImmediate,
    later: isStuck ? inAnotherTurn : (setTimeout as Later),
  };
}

const nextTurn = /* @__PURE__ */ findTurn();
let waiting: (() => void)[] = [];

/**
 * Resolves at the end of this turn of the event loop, for all who wait at once: answers that are written together wake the
 * other side once, not each. At once where the runtime has no such moment.
 */
export function endOfTick(): Promise<void> | undefined {
  if (nextTurn === undefined) return undefined;
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) nextTurn(resume);
  });
}

function findTurn(): RealClock["immediate"] {
  return isTiedToRequests() ? undefined : realClock.immediate;
}

function resume(): void {
  const all = waiting;
  waiting = [];
  for (const resolve of all) resolve();
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
