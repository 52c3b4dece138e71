import type { ReceiveResult } from "../http/answer.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import type { Deadline } from "../lib/deadline.ts";
import type { Logger } from "../lib/log.ts";
import { errField } from "../lib/thrown.ts";
import { messages } from "../messages.ts";

/** Writes the line of an answer: which delivery it was, or why it was refused, and after how many milliseconds. */
export function logAnswer(
  logger: Logger,
  id: string,
  decision: ReceiveResult,
  deadline: Pick<Deadline, "elapsedMs">,
): void {
  if (logger.info === undefined) return;
  const ms = deadline.elapsedMs;
  if ("refused" in decision) {
    const { refused: code, id: own = id } = decision;
    logger.info({ id: own, code, ms }, messages.refused);
  } else {
    logger.info({ ...decision, ms }, messages.acknowledged);
  }
}

/** Writes the line of what work on a delivery came to; `keeps` is false under `ack: "handled"`. */
export function logOutcome(logger: Logger, keeps: boolean, job: Job, outcome: Outcome): void {
  const { id, stage } = job;
  const attempt = job.attempts + 1;
  const { to } = outcome;
  const [error] = ("error" in outcome ? (outcome.error ?? null) : null)?.split("\n", 1) ?? [null];
  const err = errField(outcome);
  if (to === "verified") {
    const { verification, type } = outcome;
    logger.info?.({ id, attempt, verification, type }, messages.verified);
  } else if (to === "handled") {
    const type = outcome.type ?? job.type;
    logger.info?.({ id, attempt, type }, messages.handled);
  } else if (to === "rejected") {
    const { code: reason } = outcome.reason;
    logger.info?.({ id, attempt, reason }, messages.rejected);
  } else if (
    !keeps &&
    (stage === "handle" || to === "retry") &&
    (to !== "retry" || outcome.countsAsAttempt)
  ) {
    const why =
      "reason" in outcome ? { reason: outcome.reason.code, error, ...err } : { error, ...err };
    logger.warn({ id, ...why }, messages.notHandled);
  } else if (keeps && to !== "retry") {
    const { code: reason, message: why } = outcome.reason;
    const fields = { id, reason, why, attempt, error, ...err };
    if (to === "held") logger.warn(fields, messages.held);
    else logger.warn(fields, messages.dead);
  } else if (keeps && to === "retry" && stage === "handle" && outcome.countsAsAttempt) {
    const fields = { id, attempt, error, afterMs: outcome.afterMs, ...err };
    logger.warn(fields, messages.handlerFailed);
  } else if (keeps && to === "retry") {
    const fields = { id, stage, attempt, error, afterMs: outcome.afterMs };
    logger.info?.(fields, messages.postponed);
  }
}
