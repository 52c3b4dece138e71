import { type EventName, type EventOf, type HandlerContext, matches } from "./events.ts";

/** A handler as it is kept: its name decided which events it is given. */
export type AnyHandler = (event: EventOf, context: HandlerContext) => unknown;

/** Handlers in the order of their registration. */
export interface Registration {
  readonly names: readonly EventName[];
  readonly handler: AnyHandler;
}

/** The handlers that an event of this kind may reach; unsigned ones reach those of the test notification only. */
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

/** Runs all handlers, one after the other; resolves to what they threw. */
export async function dispatch(
  handlers: readonly AnyHandler[],
  event: EventOf,
  context: HandlerContext,
): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const handler of handlers) {
    try {
      await handler(event, context);
    } catch (error) {
      failures.push(error);
    }
    if (context.signal.aborted) break;
  }
  return failures;
}
