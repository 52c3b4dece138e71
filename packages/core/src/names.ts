import { describe, ReporthookError } from "./errors.ts";
import type { Inbox } from "./inbox.ts";

const key = Symbol.for("reporthook.names");
const shared = globalThis as { [key: symbol]: Map<unknown, Set<string>> | undefined };
// One registry for all copies of this package in the process.
const registry: Map<unknown, Set<string>> = shared[key] ?? new Map();
shared[key] = registry;

/**
 * Takes a receiver's name on an inbox until it is given back.
 *
 * @throws TypeError when another receiver of this process has it
 */
export function takeName(inbox: Inbox, name: string): { giveBack(): Promise<void> } {
  const names = registry.get(inbox.identity) ?? new Set();
  if (names.has(name)) {
    throw new TypeError(
      `createReceiver: name ${JSON.stringify(name)} is taken on this inbox: close the other receiver, or give this one another name`,
    );
  }
  registry.set(inbox.identity, names.add(name));
  return {
    /** The last one closes the inbox. */
    async giveBack() {
      names.delete(name);
      if (names.size > 0) return;
      registry.delete(inbox.identity);
      await inbox.close().catch((error: unknown) => {
        const message = `The inbox could not be closed: ${describe(error)}`;
        throw new ReporthookError("inbox_failed", message, { cause: error });
      });
    },
  };
}
