import type { FetchContext } from "./fetch.ts";
import type { Answer, Incoming } from "./incoming.ts";

/** The part of a receiver that an adapter needs. */
export interface Mountable {
  /** For adapters: schedules the start, and gives what answers a request. Never rejects. */
  mount(): (incoming: Incoming, context?: FetchContext) => Promise<Answer>;
}

/**
 * For adapters: looks whether there is a receiver to mount; `line` is what to write instead.
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
