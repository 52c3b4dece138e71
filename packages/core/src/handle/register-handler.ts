import { ReporthookError } from "../errors.ts";
import { type EventName, eventNames } from "../events/events.ts";
import { inspect } from "../lib/validate.ts";
import type { AnyHandler, Registration } from "./handlers.ts";

/**
 * Registers a handler under its names.
 *
 * @throws TypeError for an unknown name, none, or no function; ReporthookError `already_started`
 */
export function register(
  registrations: Registration[],
  receiver: { readonly name: string; readonly started: boolean },
  given: EventName | readonly EventName[],
  handler: AnyHandler,
): void {
  if (receiver.started) {
    throw new ReporthookError(
      "already_started",
      `Receiver ${receiver.name} has started: register handlers before the turn in which it is mounted ends, or set autostart: false and call start() afterwards`,
    );
  }
  const names: readonly EventName[] = Array.isArray(given) ? [...given] : [given as EventName];
  for (const name of names) {
    if (eventNames.includes(name)) continue;
    throw new TypeError(
      `on: ${inspect(name)} is no event name; these are: ${eventNames.join(", ")}`,
    );
  }
  if (names.length === 0) throw new TypeError("on: give at least one event name");
  if (typeof handler !== "function") throw new TypeError("on: the handler must be a function");
  registrations.push({ names, handler });
}
