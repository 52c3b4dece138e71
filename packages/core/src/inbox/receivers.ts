import { ReporthookError } from "../errors.ts";
import type { Endpoint } from "../http/incoming.ts";
import type { Logger } from "../lib/log.ts";
import { isDevelopment } from "../lib/platform.ts";
import { describe } from "../lib/text/describe.ts";
import type { Clock } from "../lib/time/clock.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { Inbox } from "./inbox.ts";

/** How far the life of a receiver has come: once it is `closed`, nothing more is stored. */
export type Phase = "new" | "working" | "closing" | "closed";

/** A receiver that has its name, as another one sees it. */
export interface Holder {
  readonly name: string;
  readonly inbox: Pick<Inbox, "identity" | "guarantees">;
  readonly answer: Endpoint;
  close(): Promise<void>;
  /** The receiver that took its name over. */
  successor?: Holder;
}

const namesKey = Symbol.for("reporthook.receivers");
const countsKey = Symbol.for("reporthook.inboxes");
const shared = globalThis as {
  [namesKey]?: Map<unknown, Map<string, Holder>>;
  [countsKey]?: WeakMap<Inbox, InboxUse>;
};
// One of each for all copies of this package in the process.
const registry = shared[namesKey] ?? new Map<unknown, Map<string, Holder>>();
const uses = shared[countsKey] ?? new WeakMap<Inbox, InboxUse>();
shared[namesKey] = registry;
shared[countsKey] = uses;
// Not an inbox, but the process.
const everywhere = namesKey;

/**
 * Reserves a receiver's name until it is released: on its inbox, and in the whole process if the app chose it. In development, an
 * earlier receiver on the same store, left by a module that was evaluated again, loses the name and is closed.
 *
 * @throws TypeError when another receiver of this process has it
 */
export function reserveName(holder: Holder, isChosen: boolean, logger: Logger): void {
  const { name } = holder;
  const { identity } = holder.inbox;
  const scopes = isChosen ? [identity, everywhere] : [identity];
  const earlier = scopes
    .map((scope) => registry.get(scope)?.get(name))
    .find((found) => found !== undefined);
  if (earlier !== undefined && !(isDevelopment() && isSameStore(earlier, holder))) {
    throw new TypeError(
      `createReceiver: name ${JSON.stringify(name)} is taken: close the other receiver, or give this one another name. If this module is evaluated twice, write globalThis.receiver ??= make(), where make() calls createReceiver and on`,
    );
  }
  if (earlier !== undefined) {
    releaseName(earlier);
    earlier.successor = holder;
    logger.warn({}, messages.receiverReplaced);
    earlier.close().catch((error: unknown) => {
      logger.error({ error: describe(error) }, messages.earlierNotClosed);
    });
  }
  for (const scope of scopes) {
    registry.set(scope, (registry.get(scope) ?? new Map()).set(name, holder));
  }
}

/** Releases the name of a receiver, unless it lost it. */
export function releaseName(holder: Holder): void {
  for (const scope of [holder.inbox.identity, everywhere]) {
    const names = registry.get(scope);
    if (names?.get(holder.name) === holder) names.delete(holder.name);
    if (names?.size === 0) registry.delete(scope);
  }
}

/** A memory inbox is made again with its module, and counts as the same. */
function isSameStore({ inbox: one }: Holder, { inbox: other }: Holder): boolean {
  const areInMemory = [one, other].every(({ guarantees }) => guarantees.durability === "process");
  return one.identity === other.identity || areInMemory;
}

/** Milliseconds that an inbox without an answer, as when its disk hangs, may delay others. */
export const hangMs = 2_000;
const failed = "The inbox could not be closed:";

/** The number of receivers on an inbox in this process, and its end if that has begun. */
interface InboxUse {
  receivers: number;
  closing?: Promise<void> | undefined;
}

/** Adds a receiver to those on an inbox: closing the last one closes the inbox. */
export function acquireInbox(inbox: Inbox): void {
  const use = uses.get(inbox) ?? { receivers: 0 };
  use.receivers++;
  uses.set(inbox, use);
}

/**
 * Removes a receiver. Rejects `inbox_failed` when closing the inbox fails, or takes longer than `leftMs` milliseconds, at least
 * 2,000.
 */
export async function releaseInbox(inbox: Inbox, clock: Clock, leftMs: number): Promise<void> {
  const use = uses.get(inbox);
  if (use === undefined) return;
  use.receivers--;
  if (await settlesWithin(clock, Math.max(leftMs, hangMs), closeUnlessUsed(inbox, use))) return;
  throw new ReporthookError("inbox_failed", `${failed} it gives no answer`);
}

/** In sequence: a second close would end work that began after the first. */
async function closeUnlessUsed(inbox: Inbox, use: InboxUse): Promise<void> {
  while (use.closing !== undefined) await use.closing.catch(() => {});
  if (use.receivers > 0) return;
  use.closing = inbox.close();
  try {
    await use.closing;
  } catch (cause) {
    throw new ReporthookError("inbox_failed", `${failed} ${describe(cause)}`, { cause });
  } finally {
    use.closing = undefined;
  }
}
