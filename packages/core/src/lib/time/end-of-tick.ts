import { isTiedToRequests } from "../platform.ts";
import { realTimers } from "./real-timers.ts";

// Not the clock's: a virtual one has no turns.
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

function resume(): void {
  const all = waiting;
  waiting = [];
  for (const resolve of all) resolve();
}

function findTurn(): typeof realTimers.immediate {
  return isTiedToRequests() ? undefined : realTimers.immediate;
}
