import { ReporthookError } from "../errors.ts";
import { type EventName, type EventOf, type HandlerContext, matches } from "../events/events.ts";
import type { StopSignal } from "../lib/abort.ts";
import type { Clock } from "../lib/time/clock.ts";
import { type TimeoutScope, withSignal, withTimeout } from "../lib/time/timeout.ts";
import { handlerRuns } from "./inside-handler.ts";

/** A registered handler: its names decide which events it gets. */
export type AnyHandler = (event: EventOf, context: HandlerContext) => unknown;

/** A handler and its names. */
export interface Registration {
  readonly names: readonly EventName[];
  readonly handler: AnyHandler;
}

/** The options of one attempt. */
export interface AttemptOptions {
  readonly clock: Clock;
  /** 1 at the first attempt. */
  readonly attempt: number;
  /** Milliseconds for all handlers together. */
  readonly timeoutMs: number;
  /** Ends the attempt early. */
  readonly signal: StopSignal;
}

/** The handlers of an event, in order of registration; an unsigned event has some only as a test notification. */
export function handlersFor(
  registrations: readonly Registration[],
  event: Pick<EventOf, "type" | "verification">,
  released: boolean,
): AnyHandler[] {
  const trusted = event.verification !== "unsigned" || released;
  if (!trusted && event.type !== "test_webhook_endpoint") return [];
  return registrations
    .filter(({ names }) => names.some((name) => matches(name, event.type)))
    .map(({ handler }) => handler);
}

/** Runs all handlers in sequence, within the time limit; resolves to their errors. */
export function dispatch(
  handlers: readonly AnyHandler[],
  event: EventOf,
  { clock, attempt, timeoutMs: ms, signal: parent }: AttemptOptions,
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
