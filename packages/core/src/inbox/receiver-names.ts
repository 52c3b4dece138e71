import type { Inbox } from "./inbox.ts";

const key = Symbol.for("reporthook.names");
const shared = globalThis as { [key: symbol]: Map<unknown, Set<string>> | undefined };
// One registry for all copies of this package in the process.
const registry: Map<unknown, Set<string>> = shared[key] ?? new Map();
shared[key] = registry;
// Not an inbox, but the process.
const everywhere = key;

/**
 * Takes a receiver's name until it is given back: on its inbox, and in all of the process if somebody chose it.
 *
 * @throws TypeError when another receiver of this process has it
 */
export function takeName(
  { identity }: Pick<Inbox, "identity">,
  name: string,
  isChosen: boolean,
): { giveBack(): void } {
  const places = isChosen ? [identity, everywhere] : [identity];
  if (places.some((place) => registry.get(place)?.has(name))) {
    throw new TypeError(
      `createReceiver: name ${JSON.stringify(name)} is taken: close the other receiver, or give this one another name`,
    );
  }
  for (const place of places) registry.set(place, (registry.get(place) ?? new Set()).add(name));
  return {
    giveBack() {
      for (const place of places) registry.get(place)?.delete(name);
      if (registry.get(identity)?.size === 0) registry.delete(identity);
    },
  };
}
