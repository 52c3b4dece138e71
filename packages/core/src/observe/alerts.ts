import { assertKnownKeys, assertOption, fail, inspect, typeName } from "../lib/validate.ts";
import type { Alert, AlertKind } from "./alert.ts";
import { type AlertSettings, AlertWatcher } from "./alert-watcher.ts";
import type { Observe } from "./hooks.ts";
import { watch } from "./watcher.ts";

/** Options of {@link alerts}. */
export interface AlertsOptions {
  /** Delivers a message. It has failed if it throws, rejects, or takes over 10 seconds: then `signal` is aborted. */
  readonly send: (alert: Alert, context: { readonly signal: AbortSignal }) => unknown;
  /** Which kinds: all. */
  readonly on?: readonly AlertKind[] | undefined;
  /** `parked`: this number of deliveries for one reason within `windowMs`: 1. */
  readonly parked?: number | undefined;
  /** `backlog`: the oldest delivery waits for more milliseconds: 600,000. */
  readonly oldestWaitingMs?: number | undefined;
  /** `backlog`: more deliveries wait: 10,000. */
  readonly waiting?: number | undefined;
  /** Milliseconds in which at most one message of the same kind and reason begins: 600,000. */
  readonly windowMs?: number | undefined;
}

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

function number(
  name: "parked" | "oldestWaitingMs" | "waiting" | "windowMs",
  options: AlertsOptions,
): number {
  const { [name]: given = alertDefaults[name] } = options;
  assertOption(
    `alerts: ${name}`,
    "an integer from 1",
    given,
    Number.isSafeInteger(given) && given >= 1,
  );
  return given;
}
