import { cutOff, type Job, type Outcome, type Parked, type Retry } from "../inbox/delivery.ts";
import { sumOf } from "../lib/add-counts.ts";
import type { Logger } from "../lib/log.ts";
import type { InboxClock } from "../lib/time/lived-clock.ts";
import { messages } from "../log-messages.ts";
import type { Instrumentation, Watched } from "./instrumentation.ts";

/** The log of a receiver: an instrument that writes a line for each decision. */
export function logOf({
  ack,
  clock,
  logger,
  oncePerMinute,
}: Pick<Watched, "ack" | "logger" | "oncePerMinute"> & { clock: InboxClock }): Instrumentation {
  // Before the verdict it may be a stranger's, who could fill the log.
  const ofStrangers: Logger = {
    ...logger,
    warn: (fields, message) => oncePerMinute.warn(fields, message, fields["reason"]),
  };
  return {
    answered(result, _isSigned, ms, id) {
      if (logger.info === undefined) return;
      if ("refused" in result) {
        const { refused: code, id: own = id } = result;
        logger.info({ id: own, code, ms }, messages.refused);
      } else {
        logger.info({ ...result, ms }, messages.acknowledged);
      }
    },
    settled(job, outcome) {
      const isGenuine = outcome.verification === "valid";
      const own = job.stage === "verify" && !isGenuine ? ofStrangers : logger;
      logOutcome(own, ack === "stored", job, outcome);
    },
    pruned({ announced, parked, madeRoom, noticeMs }) {
      if (sumOf(announced) > 0) {
        const deletedFrom = new Date(clock.now() + clock.wallOffset + noticeMs).toISOString();
        const look = "npx reporthook inbox list --state parked";
        const fields = { count: sumOf(announced), reasons: announced, deletedFrom, look };
        logger.warn(fields, messages.parkedExpiring);
      }
      if (sumOf(parked) > 0) {
        logger.warn({ count: sumOf(parked), reasons: parked }, messages.parkedDeleted);
      }
      if (sumOf(madeRoom) > 0) {
        logger.error({ count: sumOf(madeRoom), reasons: madeRoom }, messages.parkedMadeRoom);
      }
    },
  };
}

/**
 * Writes the line of an outcome, or of a delivery that is held on arrival, as its job is. Under `ack: "handled"` nothing
 * is kept: the sender is answered 503, unless the request itself says why not.
 */
function logOutcome(logger: Logger, keeps: boolean, job: Job, outcome: Outcome): void {
  const { id, stage } = job;
  const attempt = job.attempts + 1;
  if (outcome.to === "verified") {
    const { verification, type } = outcome;
    logger.info?.({ id, attempt, verification, type }, messages.verified);
  } else if (outcome.to === "handled") {
    logger.info?.({ id, attempt, type: outcome.type ?? job.type }, messages.handled);
  } else if (outcome.to === "rejected") {
    logger.info?.({ id, attempt, reason: outcome.reason.code }, messages.rejected);
  } else if (outcome.to === "retry") {
    const { afterMs, countsAsAttempt } = outcome;
    const { error, ...err } = errorFields(outcome);
    // An attempt that is not counted, because the key is refused, has lost it as well.
    if (!keeps && (countsAsAttempt || (stage === "verify" && outcome !== cutOff))) {
      logger.warn({ id, error, ...err }, messages.notHandled);
    } else if (keeps && countsAsAttempt && stage === "handle") {
      logger.warn({ id, attempt, error, afterMs, ...err }, messages.handlerFailed);
    } else if (keeps) {
      logger.info?.({ id, stage, attempt, error, afterMs }, messages.postponed);
    }
  } else {
    const { code: reason, message: why } = outcome.reason;
    if (job.state === "held") {
      logger.info?.({ id, reason }, messages.heldOnArrival);
    } else if (keeps) {
      const fields = { id, reason, why, attempt, ...errorFields(outcome) };
      logger.warn(fields, outcome.to === "held" ? messages.held : messages.dead);
    } else if (stage === "handle") {
      logger.warn({ id, reason, ...errorFields(outcome) }, messages.notHandled);
    }
  }
}

/** The first line of an outcome's error, and the error itself. */
function errorFields({ error, err }: Parked | Retry): Pick<Parked, "error" | "err"> {
  return { error: error?.split("\n", 1)[0] ?? null, ...(err !== undefined && { err }) };
}
