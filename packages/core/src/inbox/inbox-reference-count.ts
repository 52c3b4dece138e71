import { ReporthookError } from "../errors.ts";
import { describe } from "../lib/describe.ts";
import type { Clock } from "../lib/time/clock.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import type { Inbox } from "./inbox.ts";

const key = Symbol.for("reporthook.inboxes");
const shared = globalThis as { [key: symbol]: WeakMap<Inbox, InboxReferenceCount> | undefined };
// One for all copies of this package in the process.
const referenceCounts: WeakMap<Inbox, InboxReferenceCount> = shared[key] ?? new WeakMap();
shared[key] = referenceCounts;

/** Milliseconds that an inbox without an answer, as when its disk hangs, may delay others. */
export const silentMs = 2_000;

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
    if (await settlesWithin(clock, Math.max(leftMs, silentMs), this.#closeUnlessUsed())) return;
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

const failed = "The inbox could not be closed:";

/** The reference count of an inbox in this process. */
export function referenceCountOf(inbox: Inbox): InboxReferenceCount {
  const known = referenceCounts.get(inbox) ?? new InboxReferenceCount(inbox);
  referenceCounts.set(inbox, known);
  return known;
}
