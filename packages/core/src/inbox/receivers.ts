import { ReporthookError } from "../errors.ts";
import type { Mountable } from "../http/incoming.ts";
import type { Logger } from "../lib/log.ts";
import { isDevelopment } from "../lib/platform.ts";
import { describe } from "../lib/text/describe.ts";
import type { Clock } from "../lib/time/clock.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { messages } from "../log-messages.ts";
import type { Inbox } from "./inbox.ts";

/** How far the life of a receiver has come: once it is `closed`, nothing more is stored. */
export type Phase = "new" | "working" | "closing" | "closed";

/** A receiver, as its successor sees it. */
export interface Holder {
  readonly inbox: Pick<Inbox, "identity" | "guarantees">;
  readonly answer: ReturnType<Mountable["mount"]>;
  close(): Promise<void>;
}

/** A name that belongs to one receiver until it is released. */
export interface ReservedName {
  readonly holder: Holder;
  /** The receiver that took over from this one. */
  successor: Holder | undefined;
  release(): void;
}

const namesKey = Symbol.for("reporthook.receivers");
const countsKey = Symbol.for("reporthook.inboxes");
const shared = globalThis as {
  [namesKey]?: Map<unknown, Map<string, ReservedName>>;
  [countsKey]?: WeakMap<Inbox, InboxReferenceCount>;
};
// One of each for all copies of this package in the process.
const registry = shared[namesKey] ?? new Map<unknown, Map<string, ReservedName>>();
const referenceCounts = shared[countsKey] ?? new WeakMap<Inbox, InboxReferenceCount>();
shared[namesKey] = registry;
shared[countsKey] = referenceCounts;
// Not an inbox, but the process.
const everywhere = namesKey;

/**
 * Reserves a receiver's name until it is released: on its inbox, and in the whole process if the app chose it. In development, an
 * earlier receiver on the same store, left by a module that was evaluated again, loses the name and is closed.
 *
 * @throws TypeError when another receiver of this process has it
 */
export function reserveName(
  holder: Holder,
  name: string,
  isChosen: boolean,
  logger: Logger,
): ReservedName {
  const { identity } = holder.inbox;
  const scopes = isChosen ? [identity, everywhere] : [identity];
  const earlier = scopes
    .map((scope) => registry.get(scope)?.get(name))
    .find((reservation) => reservation !== undefined);
  if (earlier !== undefined && !(isDevelopment() && isSameStore(earlier.holder, holder))) {
    throw new TypeError(
      `createReceiver: name ${JSON.stringify(name)} is taken: close the other receiver, or give this one another name. If this module is evaluated twice, write globalThis.receiver ??= make(), where make() calls createReceiver and on`,
    );
  }
  if (earlier !== undefined) {
    forget(name, earlier);
    earlier.successor = holder;
    logger.warn({}, messages.receiverReplaced);
    earlier.holder.close().catch((error: unknown) => {
      logger.error({ error: describe(error) }, messages.earlierNotClosed);
    });
  }
  const release = (): void => forget(name, reservation);
  const reservation: ReservedName = { holder, successor: undefined, release };
  for (const scope of scopes) {
    registry.set(scope, (registry.get(scope) ?? new Map()).set(name, reservation));
  }
  return reservation;
}

function forget(name: string, reservation: ReservedName): void {
  const { identity } = reservation.holder.inbox;
  for (const scope of [identity, everywhere]) {
    const names = registry.get(scope);
    if (names?.get(name) === reservation) names.delete(name);
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

/** Counts the receivers on an inbox in this process: closing the last one closes the inbox. */
export class InboxReferenceCount {
  readonly #inbox: Inbox;
  #receivers = 0;
  #closing: Promise<void> | undefined;

  constructor(inbox: Inbox) {
    this.#inbox = inbox;
  }

  /** Adds a receiver. */
  acquire(): void {
    this.#receivers++;
  }

  /**
   * Removes a receiver. Rejects `inbox_failed` when closing the inbox fails, or takes longer than `leftMs` milliseconds, at least
   * 2,000.
   */
  async release(clock: Clock, leftMs: number): Promise<void> {
    this.#receivers--;
    if (await settlesWithin(clock, Math.max(leftMs, hangMs), this.#closeUnlessUsed())) return;
    throw new ReporthookError("inbox_failed", `${failed} it gives no answer`);
  }

  /** In sequence: a second close would end work that began after the first. */
  async #closeUnlessUsed(): Promise<void> {
    while (this.#closing !== undefined) await this.#closing.catch(() => {});
    if (this.#receivers > 0) return;
    this.#closing = this.#inbox.close();
    try {
      await this.#closing;
    } catch (cause) {
      throw new ReporthookError("inbox_failed", `${failed} ${describe(cause)}`, { cause });
    } finally {
      this.#closing = undefined;
    }
  }
}

/** The reference count of an inbox in this process. */
export function referenceCountOf(inbox: Inbox): InboxReferenceCount {
  const known = referenceCounts.get(inbox) ?? new InboxReferenceCount(inbox);
  referenceCounts.set(inbox, known);
  return known;
}
