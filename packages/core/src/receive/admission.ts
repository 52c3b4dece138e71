import { ReporthookError } from "../errors.ts";
import type { Refusal } from "../http/answer.ts";
import type { Arrival, NewDelivery } from "../inbox/delivery.ts";
import type { AddResult } from "../inbox/inbox.ts";
import { describe } from "../lib/text/describe.ts";
import type { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Runner } from "../run/runner.ts";

const theInbox = "The inbox";

/** Refuses requests once the receiver is closed or while too many deliveries wait, and deliveries that can't be stored. */
export class Admission {
  readonly #settings: ReceiverSettings;
  readonly #runner: Pick<Runner, "phase" | "prepare">;
  readonly #reporter: Pick<Reporter, "tell">;

  constructor(
    settings: ReceiverSettings,
    runner: Pick<Runner, "phase" | "prepare">,
    reporter: Pick<Reporter, "tell">,
  ) {
    this.#settings = settings;
    this.#runner = runner;
    this.#reporter = reporter;
  }

  /** The refusal of a request at this moment; null if it is admitted. */
  refusal(): Refusal | null {
    const { ack, inbox, limits, name } = this.#settings;
    // While it is closing, it stores: a sender is refused only when nothing is left that could work on it.
    if (this.#runner.phase === "closed") return { refused: "closing" };
    if (ack === "handled") return null;
    const { waiting, unverified } = inbox.backlog(name);
    if (waiting < limits.waiting && unverified < limits.unverified) return null;
    this.#settings.oncePerMinute.warn({ waiting, unverified }, messages.overloaded);
    return { refused: "overloaded" };
  }

  /** Waits until deliveries may be stored, or refuses one. Never rejects. */
  async prepare(deadline: Deadline): Promise<Refusal | null> {
    if (this.#settings.ack === "handled") return null;
    try {
      await deadline.within(this.#runner.prepare(), theInbox);
      return null;
    } catch (error) {
      return this.notStored(null, error);
    }
  }

  /** Stores a delivery before the deadline, or rejects; after a timeout it may still be stored. */
  store(delivery: NewDelivery, arrival: Arrival, deadline: Deadline): Promise<AddResult> {
    return deadline.within(this.#settings.inbox.add(delivery, arrival), theInbox);
  }

  /** The refusal of a delivery that could not be stored. */
  notStored(id: string | null, error: unknown): Refusal {
    const { oncePerMinute } = this.#settings;
    if (error instanceof ReporthookError && error.code === "overloaded") {
      oncePerMinute.warn({ error: describe(error) }, messages.inboxFull);
      return { refused: "overloaded" };
    }
    this.#reporter.tell("notStored", error);
    oncePerMinute.error({ id, error: describe(error) }, messages.notStored);
    return { refused: "inbox_unavailable" };
  }
}
