import type { Entry } from "./delivery.ts";

/** How the last error of a delivery begins when the service refused the API key. */
export const keyRefused = "The service refuses the API key";

/** Whether the service refused the API key when it was last asked about a delivery, or was not asked for that reason. */
export function isKeyRefused({ state, lastError }: Pick<Entry, "state" | "lastError">): boolean {
  return state === "received" && lastError !== null && lastError.startsWith(keyRefused);
}
