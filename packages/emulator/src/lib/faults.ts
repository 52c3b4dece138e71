import { checkOptions } from "./options.ts";

/** The target of a fault: an operation of the service, or its deliveries. */
export type FaultTarget = "authorize" | "test" | "request-report" | "delivery";

/** The kind of a fault. With `status` and `drop` the request does not reach its target. */
export interface FaultOptions {
  /** Answer with this status instead, 200 to 599. */
  readonly status?: number | undefined;
  /** Wait first, in milliseconds of the emulator's clock. A late delivery keeps its signature. */
  readonly delayMs?: number | undefined;
  /** Break the connection instead of answering. */
  readonly drop?: boolean | undefined;
  /** Deliveries only: send the same notification twice, same bytes and signature. */
  readonly duplicate?: boolean | undefined;
  /** Number of requests. Default: until it is ended or `reset()`. */
  readonly times?: number | undefined;
}

/** The active faults. */
export interface Faults {
  /** Sets a fault; returns a function that ends it. */
  set(target: FaultTarget, options?: FaultOptions): () => void;
  /** Takes the fault of the next request and counts it as used; undefined if there is none. */
  take(target: FaultTarget): FaultOptions | undefined;
  clear(): void;
}

const TARGETS: readonly FaultTarget[] = ["authorize", "test", "request-report", "delivery"];
const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/**
 * Creates an empty set of faults. Faults of one target apply one after another, in the order they were
 * set. A fault without `times` would never end, so the next one replaces it.
 */
export function createFaults(): Faults {
  let queue: { target: FaultTarget; options: FaultOptions; left: number }[] = [];

  return {
    set(target, options = {}) {
      check(target, options);
      const fault = { target, options: { ...options }, left: options.times ?? Infinity };
      queue = queue.filter((other) => other.target !== target || other.left !== Infinity);
      queue.push(fault);
      return () => {
        queue = queue.filter((other) => other !== fault);
      };
    },
    take(target) {
      const fault = queue.find((other) => other.target === target);
      if (!fault) return undefined;
      fault.left -= 1;
      if (fault.left === 0) queue = queue.filter((other) => other !== fault);
      return fault.options;
    },
    clear() {
      queue = [];
    },
  };
}

function check(target: FaultTarget, options: FaultOptions): void {
  checkOptions("fault()", options, ["status", "delayMs", "drop", "duplicate", "times"]);
  const { status, delayMs, drop, duplicate, times } = options;
  if (!TARGETS.includes(target)) reject("target", `one of ${TARGETS.join(", ")}`, target);
  if (status !== undefined) checkInteger("status", status, 200, 599);
  if (delayMs !== undefined) checkInteger("delayMs", delayMs, 0, LONGEST_TIMER_MS);
  if (times !== undefined) checkInteger("times", times, 1, Number.MAX_SAFE_INTEGER);
  for (const [name, value] of Object.entries({ drop, duplicate })) {
    if (value !== undefined && typeof value !== "boolean") reject(name, "true or false", value);
  }
  if (duplicate && target !== "delivery") reject("duplicate", `left out for ${target}`, duplicate);
  if (drop && status !== undefined) reject("drop", "left out when status is given", drop);
  if (status === undefined && delayMs === undefined && !drop && !duplicate) {
    throw new TypeError("fault() needs one of status, delayMs, drop, duplicate");
  }
}

function checkInteger(name: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  reject(name, `an integer from ${min} to ${max}`, value);
}

function reject(name: string, expected: string, value: unknown): never {
  throw new TypeError(`${name} of a fault must be ${expected}, not ${String(value)}`);
}
