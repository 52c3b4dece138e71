import { ReporthookError } from "../errors.ts";
import {
  type EventName,
  type EventOf,
  eventNames,
  type HandlerContext,
  matches,
} from "../events/events.ts";
import { tryGet } from "../lib/safe-get.ts";
import {
  type TimeoutOptions,
  type TimeoutScope,
  withSignal,
  withTimeout,
} from "../lib/time/timeout.ts";
import { inspect } from "../lib/validate.ts";

/** A registered handler: its names decide which events it gets. */
export type AnyHandler = (event: EventOf, context: HandlerContext) => unknown;

/** The handlers of a receiver. */
export class Handlers {
  readonly #registered: { readonly names: readonly EventName[]; readonly handler: AnyHandler }[] =
    [];

  /** Whether there is none. */
  get isEmpty(): boolean {
    return this.#registered.length === 0;
  }

  /**
   * Registers a handler under its names.
   *
   * @throws TypeError for an unknown name, none, or no function
   */
  add(given: EventName | readonly EventName[], handler: AnyHandler): void {
    const names: readonly EventName[] = Array.isArray(given) ? [...given] : [given as EventName];
    for (const name of names) {
      if (eventNames.includes(name)) continue;
      throw new TypeError(
        `on: ${inspect(name)} is no event name; these are: ${eventNames.join(", ")}`,
      );
    }
    if (names.length === 0) throw new TypeError("on: give at least one event name");
    if (typeof handler !== "function") throw new TypeError("on: the handler must be a function");
    // The delivery would count as handled.
    if (/Generator/.test(Object.prototype.toString.call(handler)))
      throw new TypeError("on: the handler is a generator, and a call runs nothing of it");
    this.#registered.push({ names, handler });
  }

  /** The handlers of an event, in order of registration; an unsigned one has some only as a test notification, or once it is released. */
  of(event: Pick<EventOf, "type" | "verification">, released: boolean): AnyHandler[] {
    const trusted = event.verification !== "unsigned" || released;
    if (!trusted && event.type !== "test_webhook_endpoint") return [];
    return this.#registered
      .filter(({ names }) => names.some((name) => matches(name, event.type)))
      .map(({ handler }) => handler);
  }
}

/** Runs all handlers in sequence, together within a time limit; resolves to their errors. `attempt` is 1 at the first one. */
export function dispatch(
  handlers: readonly AnyHandler[],
  event: EventOf,
  attempt: number,
  { clock, ms, parent }: Omit<TimeoutOptions, "late">,
): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  const late = (): Error =>
    new ReporthookError(
      "handler_timeout",
      `The handlers took longer than handlerTimeoutMs (${ms} ms)`,
    );
  const runAll = (scope: TimeoutScope): Promise<readonly unknown[]> => {
    const context: HandlerContext = withSignal(scope, { attempt });
    const run = (handler: AnyHandler): unknown => handler(event, context);
    return handlerRuns["reporthook runs handlers"](handlers, run, scope, failures);
  };
  return withTimeout({ clock, ms, late, parent }, runAll).catch((error: unknown) => [
    ...failures,
    error,
  ]);
}

/** Runs handlers in sequence until the time is over; resolves to `failures`, with their errors. */
const handlerRuns = {
  // A name that no minifier changes: isInsideHandler() looks for it.
  async "reporthook runs handlers"(
    handlers: readonly AnyHandler[],
    run: (handler: AnyHandler) => unknown,
    scope: TimeoutScope,
    failures: unknown[],
  ): Promise<readonly unknown[]> {
    for (const handler of handlers) {
      if (scope.over) break;
      try {
        await run(handler);
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  },
};

/**
 * Whether a handler calls this, or awaits the function that does: V8 shows that in a stack. False on other engines. An
 * AsyncLocalStorage would know it everywhere, but costs a sixth more CPU for each delivery on Node 20 and 22.
 */
export function isInsideHandler(): boolean {
  const { stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 200;
    return String(new Error().stack).includes("reporthook runs handlers");
  } catch {
    return false;
  } finally {
    // Where Error is frozen it was not changed, either.
    tryGet(() => {
      Error.stackTraceLimit = stackTraceLimit;
    });
  }
}
