import type { Called } from "../callback-urls/callback-url.ts";
import type { Incoming } from "../http/incoming.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { createRate } from "./rate.ts";
import { namedSignature } from "./read-request.ts";

// The limit of each process: a stranger's signatures are as good as others until the service is asked.
const perSecond = 10;
const maxKept = 1_000;

/** Admits requests without the token that is required: a report that was requested before may be on its way. */
export interface WithoutToken {
  /** Whether to read a request; false if it can't be kept, or too many come. */
  mayBegin(incoming: Incoming, called: Called): boolean;
  /** Whether there is room for one more. */
  mayStay(): boolean;
}

/** Creates the only place that admits requests without a token that is required. */
export function admitWithoutToken(settings: ReceiverSettings): WithoutToken {
  const { ack, clock, inbox, name, oncePerMinute, signature: source } = settings;
  const withinRate = createRate(clock, perSecond);
  return {
    mayBegin({ headers }, { token }) {
      const isUnsigned = namedSignature(headers, source) === null;
      const begins = !isUnsigned && ack === "stored" && withinRate();
      if (begins) oncePerMinute.warn({ token }, messages.tokenAwaited);
      else oncePerMinute.warn({ token }, messages.tokenRefused);
      return begins;
    },
    mayStay() {
      const stays = inbox.backlog(name).withoutToken < maxKept;
      if (!stays) oncePerMinute.warn({ kept: maxKept }, messages.tokenRefused);
      return stays;
    },
  };
}
