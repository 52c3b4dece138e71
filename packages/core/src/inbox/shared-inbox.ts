import { ReporthookError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { describe } from "../lib/describe.ts";
import { isDoneIn } from "../lib/timeout.ts";
import type { Inbox } from "./inbox.ts";

const key = Symbol.for("reporthook.inboxes");
const shared = globalThis as { [key: symbol]: WeakMap<Inbox, InboxUse> | undefined };
// One for all copies of this package in the process.
const uses: WeakMap<Inbox, InboxUse> = shared[key] ?? new WeakMap();
shared[key] = uses;

/** How long an inbox that gives no answer, as when its disk hangs, may hold up who waits for it, in milliseconds. */
export const silentMs = 2_000;

/** Who uses an inbox in this process: the receivers made on it, and whoever looks into it. */
export class InboxUse {
  readonly #inbox: Inbox;
  #receivers = 0;
  #looks = 0;
  #closing: Promise<void> | undefined;

  constructor(inbox: Inbox) {
    this.#inbox = inbox;
  }

  /** One more receiver is made on it. */
  begin(): void {
    this.#receivers++;
  }

  /**
   * A receiver is closed: the last one closes the inbox. Rejects `inbox_failed` when that fails, or takes longer than
   * `leftMs` and 2 seconds.
   */
  async end(clock: Clock, leftMs: number): Promise<void> {
    this.#receivers--;
    await this.#close(clock, () => this.#receivers > 0, Math.max(leftMs, silentMs));
  }

  /**
   * Has somebody look into it. With the last receiver closed, that opens it once more: whoever looks last closes it
   * again, and `failed` is told when that fails.
   */
  async look<T>(
    what: () => Promise<T>,
    clock: Clock,
    failed: (error: unknown) => void,
  ): Promise<T> {
    this.#looks++;
    try {
      const closing = this.#closing?.catch(() => {});
      if (closing !== undefined) await isDoneIn(clock, silentMs, closing);
      return await what();
    } finally {
      this.#looks--;
      const isUsed = (): boolean => this.#receivers > 0 || this.#looks > 0;
      await this.#close(clock, isUsed, silentMs).catch(failed);
    }
  }

  async #close(clock: Clock, isUsed: () => boolean, mostMs: number): Promise<void> {
    if (isUsed() || (await isDoneIn(clock, mostMs, this.#closeUnless(isUsed)))) return;
    throw new ReporthookError("inbox_failed", `${words} it gives no answer`);
  }

  /** One after the other: an inbox that is closed twice would end what somebody began after the first time. */
  async #closeUnless(isUsed: () => boolean): Promise<void> {
    while (this.#closing !== undefined) await this.#closing.catch(() => {});
    if (isUsed()) return;
    this.#closing = this.#inbox.close();
    try {
      await this.#closing;
    } catch (cause) {
      throw new ReporthookError("inbox_failed", `${words} ${describe(cause)}`, { cause });
    } finally {
      this.#closing = undefined;
    }
  }
}

const words = "The inbox could not be closed:";

/** How an inbox is used in this process. */
export function useOf(inbox: Inbox): InboxUse {
  const use = uses.get(inbox) ?? new InboxUse(inbox);
  uses.set(inbox, use);
  return use;
}
