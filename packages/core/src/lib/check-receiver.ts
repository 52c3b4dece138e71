import type { Receiver } from "../receiver-type.ts";
import { kindOf } from "./validate.ts";

/**
 * For adapters: looks whether there is a receiver to mount; `line` is what to write instead.
 *
 * @throws TypeError that shows the line
 * @example checkReceiver(receiver, 'app.post("/webhooks/reports", reporthook(receiver))');
 */
export function checkReceiver(
  receiver: unknown,
  line: string,
): asserts receiver is Pick<Receiver, "mount"> {
  const given = receiver as { readonly mount?: unknown } | null | undefined;
  if (typeof given?.mount === "function") return;
  throw new TypeError(
    `There is no receiver to mount, but ${kindOf(receiver)}. Write: ${line}, where receiver is createReceiver({ client })`,
  );
}
