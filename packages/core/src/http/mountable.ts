import type { FetchContext } from "./fetch.ts";
import type { Answer, Incoming } from "./incoming.ts";

/** The part of a receiver that an adapter needs. */
export interface Mountable {
  /** For adapters: schedules the start, and returns the function that answers requests. It never rejects. */
  mount(): (incoming: Incoming, context?: FetchContext) => Promise<Answer>;
}

/**
 * For adapters: checks that the argument is a receiver; `line` is the correct code for the error message.
 *
 * @throws TypeError that shows the line
 * @example checkReceiver(receiver, 'app.post("/webhooks/reports", reporthook(receiver))');
 */
export function checkReceiver(receiver: unknown, line: string): asserts receiver is Mountable {
  const given = receiver as { readonly mount?: unknown } | null | undefined;
  if (typeof given?.mount === "function") return;
  throw new TypeError(
    `There is no receiver to mount. Write: ${line}, where receiver is createReceiver({ client })`,
  );
}
