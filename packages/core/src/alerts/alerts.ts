import { problemKinds } from "../health/problem.ts";
import { assertKnownKeys, assertOption, fail, inspect, typeName } from "../lib/validate.ts";
import type { Observe } from "../observe/hooks.ts";
import { watch } from "../observe/instrumentation.ts";
import { type AlertsOptions, AlertWatcher } from "./watcher.ts";

export type { AlertsOptions } from "./watcher.ts";

/**
 * Sends a message when a problem of `health()` begins, and one when it is over: once for an inbox, also with several
 * processes, and after restarts.
 *
 * @throws TypeError that names a wrong option
 * @example
 * const receiver = createReceiver({
 *   client,
 *   observe: alerts({ send: ({ text }) => console.error(text) }),
 * });
 */
export function alerts(options: AlertsOptions): Observe {
  assertKnownKeys("alerts", options, ["send", "on"]);
  const { send, on = problemKinds } = options;
  if (typeof send !== "function") fail("alerts: send", "a function", typeName(send));
  const names = problemKinds.join(", ");
  assertOption("alerts: on", `an array of ${names}`, on, Array.isArray(on));
  for (const code of on) {
    if (!problemKinds.includes(code)) fail("alerts: on", `of ${names}`, inspect(code));
  }
  return { [watch]: (watched) => new AlertWatcher({ send, on: [...on] }, watched) };
}
