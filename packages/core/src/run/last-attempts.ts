import { actOn } from "../inbox/acts/acting.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/**
 * The last attempts of deliveries that end with the process: while the receiver closes, each that waits for another attempt is
 * due at once, but once only.
 */
export class LastAttempts {
  readonly #settings: ReceiverSettings;
  /** The ids of deliveries whose last attempt is due. */
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
        if (Number(nextAttemptAt) > clock.wallNow()) this.#hurried.add(id);
      }
    }
    await this.#hurry();
  }

  /** The outcome of an attempt that began meanwhile: if it is to be repeated, then at once. */
  ofAttempt({ id }: Job, attempt: Promise<Outcome>): Promise<Outcome> {
    if (!this.#begun || this.#hurried.has(id)) return attempt;
    return attempt.then((outcome) =>
      outcome.to === "retry" ? { ...outcome, afterMs: 0 } : outcome,
    );
  }

  /** Takes note of an outcome that is recorded. */
  recorded({ id }: Job, outcome: Outcome): void {
    if (!this.#begun) return;
    if (outcome.to !== "retry") {
      this.#failed.delete(id);
      this.#hurried.delete(id);
    } else if (this.#hurried.has(id)) {
      this.#failed.add(id);
    } else {
      this.#hurried.add(id);
      // One that began before.
      if (outcome.afterMs > 0) void this.#hurry(id);
    }
  }

  /** Makes one due, or all. */
  async #hurry(id?: string): Promise<void> {
    const { clock, inbox, name } = this.#settings;
    // It may have begun in the meantime, or be gone.
    const query = { act: "retry", id, receiver: name, now: clock.now(), by: null } as const;
    await actOn(inbox, query).catch(() => {});
  }
}
