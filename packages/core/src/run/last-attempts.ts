import { actOn } from "../inbox/acting.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/**
 * The last attempts of deliveries that end with the process: while the receiver closes, each that waits for another attempt is
 * due at once, but once only.
 */
export class LastAttempts {
  readonly #settings: ReceiverSettings;
  readonly #hurried = new Set<string>();
  /** The ids of deliveries whose last attempt has failed. */
  readonly #failed = new Set<string>();
  #begun = false;

  constructor(settings: ReceiverSettings) {
    this.#settings = settings;
  }

  /** The number of deliveries that wait and have not had their last attempt. */
  get left(): number {
    const { inbox, name } = this.#settings;
    return inbox.backlog(name).waiting - this.#failed.size;
  }

  /** Makes those due that wait for a later attempt. */
  async begin(): Promise<void> {
    this.#begun = true;
    const { clock, inbox, name } = this.#settings;
    if (this.left === 0) return;
    for (const state of ["received", "verified"] as const) {
      const query = { receiver: name, state, limit: Number.POSITIVE_INFINITY };
      for (const { id, nextAttemptAt } of await inbox.list(query)) {
        const isLater = Number(nextAttemptAt) > clock.wallNow();
        if (isLater && !this.#hurried.has(id)) await this.#hurry(id);
      }
    }
  }

  /** Takes note of an outcome that is recorded. */
  recorded({ id }: Job, { to }: Outcome): void {
    if (!this.#begun) return;
    if (to !== "retry") {
      this.#failed.delete(id);
      this.#hurried.delete(id);
    } else if (this.#hurried.has(id)) this.#failed.add(id);
    else void this.#hurry(id);
  }

  async #hurry(id: string): Promise<void> {
    this.#hurried.add(id);
    const { clock, inbox, name } = this.#settings;
    // It may have begun in the meantime, or be gone.
    const query = { act: "retry", id, receiver: name, now: clock.now(), by: null } as const;
    await actOn(inbox, query).catch(() => {});
  }
}
