import type { Called } from "../callback-urls/callback-url.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { createRate } from "./rate.ts";

// A stranger's signatures are as good as others until the service is asked.
const maxKept = 1_000;

/** Admits requests without the token that is required: a report that was requested before may be on its way. */
export class Tokenless {
  readonly #settings: ReceiverSettings;
  readonly #withinRate: () => boolean;

  constructor(settings: ReceiverSettings) {
    this.#settings = settings;
    this.#withinRate = createRate(settings.clock);
  }

  /** Whether to read a request; `isSigned` is whether it may be. False if it can't be kept, or too many come. */
  mayBegin(isSigned: boolean, token: Called["token"]): boolean {
    const { ack, oncePerMinute } = this.#settings;
    const begins = isSigned && ack === "stored" && this.#withinRate();
    oncePerMinute.warn({ token }, begins ? messages.tokenAwaited : messages.tokenRefused);
    return begins;
  }

  /** Whether there is room for one more. */
  mayStay(): boolean {
    const { inbox, name, oncePerMinute } = this.#settings;
    const stays = inbox.backlog(name).withoutToken < maxKept;
    if (!stays) oncePerMinute.warn({ kept: maxKept }, messages.tokenRefused);
    return stays;
  }
}
