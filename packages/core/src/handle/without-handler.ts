import { toObject } from "../events/recognize.ts";
import { type Job, type Outcome, park, type Recognized } from "../inbox/delivery.ts";
import { oncePerMinuteEach } from "../lib/log.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Registration } from "./handlers.ts";

/** Warns about missing handlers, and decides the outcome of an event without one. */
export interface NoHandler {
  /** Warns when the work starts and no handler is registered at all. */
  atStart(): void;
  /** An unknown event is held; a test or report is handled, and shown as `no handler ran`. */
  outcomeOf(job: Job, found: Recognized): Outcome;
}

/** Creates {@link NoHandler}; it logs one line a minute for each type of event. */
export function createNoHandler({
  clock,
  logger,
  registrations,
}: Pick<ReceiverSettings, "clock" | "logger"> & {
  readonly registrations: readonly Registration[];
}): NoHandler {
  const unhandled = oncePerMinuteEach(clock, logger.warn, "type");
  return {
    atStart() {
      if (registrations.length > 0) return;
      logger.warn({}, messages.noHandlers);
    },
    outcomeOf(job, found) {
      const { type } = found;
      if (type === "unknown") return held(job);
      unhandled({ id: job.id, type }, messages.noHandler);
      return { to: "handled", ...found, error: "no handler ran" };
    },
  };
}

function held(job: Job): Outcome {
  const keys = Object.keys(toObject(job.body) ?? {}).slice(0, 20);
  const message =
    `No handler for an unknown notification with the keys ${keys.join(", ").slice(0, 500)}: ` +
    'register one for "unknown" or teach parse its shape, then release it.';
  return { ...park("held", "no_handler", message), type: "unknown", reportId: null };
}
