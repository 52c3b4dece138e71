import { ReporthookError } from "../errors.ts";
import type { ReceiveResult } from "../http/answer.ts";
import type { Status } from "../inbox/health.ts";
import { describe } from "../lib/describe.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";
import { messages } from "../messages.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/** Refuses requests while the receiver closes, or while too many deliveries wait. */
export class Admission {
  readonly #settings: ReceiverSettings;
  readonly #status: Readonly<Status>;
  readonly #overloaded: Logger["warn"];

  constructor(settings: ReceiverSettings, status: Readonly<Status>) {
    this.#settings = settings;
    this.#status = status;
    this.#overloaded = oncePerMinute(settings.clock, settings.logger.warn);
  }

  /** The refusal of a request at this moment; null if it is admitted. */
  refusal(): ReceiveResult | null {
    const { ack, inbox, limits, name } = this.#settings;
    const keepsStoring = ack === "stored" && inbox.guarantees.durability !== "process";
    const { closed, closing } = this.#status;
    if (closing && (closed || !keepsStoring)) return { refused: "closing" };
    if (ack === "handled") return null;
    const { waiting, unverified } = inbox.backlog(name);
    if (waiting < limits.waiting && unverified < limits.unverified) return null;
    this.#overloaded({ waiting, unverified }, messages.overloaded);
    return { refused: "overloaded" };
  }

  /** The refusal of a delivery that could not be stored. */
  notStored(id: string, error: unknown): ReceiveResult {
    if (error instanceof ReporthookError && error.code === "overloaded") {
      this.#overloaded({ error: describe(error) }, messages.inboxFull);
      return { refused: "overloaded" };
    }
    const fields = { id, error: describe(error) };
    this.#settings.logger.error(fields, messages.notStored);
    return { refused: "inbox_unavailable" };
  }
}
