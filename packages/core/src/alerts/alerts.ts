import { assertKnownKeys, assertOption, fail, inspect, typeName } from "../lib/validate.ts";
import type { Observe } from "../observe/hooks.ts";
import { watch } from "../observe/instrumentation.ts";
import type { AlertKind } from "./alert.ts";
import { type AlertSettings, type AlertsOptions, AlertWatcher } from "./watcher.ts";

export type { AlertsOptions } from "./watcher.ts";

/** The kinds of alerts. */
const kinds: readonly AlertKind[] = ["parked", "refused", "backlog", "inbox"];

/** The defaults of {@link alerts}. */
export const alertDefaults: Omit<AlertSettings, "send"> = {
  on: kinds,
  parked: 1,
  oldestWaitingMs: 600_000,
  waiting: 10_000,
  windowMs: 600_000,
};

/**
 * Sends a message when deliveries are parked, the service refuses the API key, a backlog grows or the inbox fails, and one
 * when it is over.
 *
 * @throws TypeError that names a wrong option
 * @example
 * const receiver = createReceiver({
 *   client,
 *   observe: alerts({ send: ({ text }) => console.error(text) }),
 * });
 */
export function alerts(options: AlertsOptions): Observe {
  assertKnownKeys("alerts", options, ["send", ...Object.keys(alertDefaults)]);
  if (typeof options.send !== "function") {
    fail("alerts: send", "a function", typeName(options.send));
  }
  const { on = alertDefaults.on } = options;
  assertOption("alerts: on", `an array of ${kinds.join(", ")}`, on, Array.isArray(on));
  for (const kind of on) {
    if (!kinds.includes(kind)) fail("alerts: on", `of ${kinds.join(", ")}`, inspect(kind));
  }
  const settings: AlertSettings = {
    send: options.send,
    on: [...on],
    parked: number("parked", options),
    oldestWaitingMs: number("oldestWaitingMs", options),
    waiting: number("waiting", options),
    windowMs: number("windowMs", options),
  };
  return { [watch]: (watched) => new AlertWatcher(settings, watched) };
}

function number(name: Exclude<keyof AlertsOptions, "send" | "on">, options: AlertsOptions): number {
  const { [name]: given = alertDefaults[name] } = options;
  const fits = Number.isSafeInteger(given) && given >= 1;
  assertOption(`alerts: ${name}`, "an integer from 1", given, fits);
  return given;
}
