import type { ReceiveResult } from "../http/answer.ts";
import type { Job, Outcome, Parked, Retry } from "../inbox/delivery.ts";
import type { Pruned } from "../inbox/inbox.ts";
import { sumOf } from "../lib/add-counts.ts";
import type { Logger } from "../lib/log.ts";
import { messages } from "../log-messages.ts";

/** Writes the line of an answer: which delivery it was, or why it was refused, and after how many milliseconds. */
export function logAnswer(logger: Logger, id: string, decision: ReceiveResult, ms: number): void {
  if (logger.info === undefined) return;
  if ("refused" in decision) {
    const { refused: code, id: own = id } = decision;
    logger.info({ id: own, code, ms }, messages.refused);
  } else {
    logger.info({ ...decision, ms }, messages.acknowledged);
  }
}

/** Writes the line of an outcome; `keeps` is false under `ack: "handled"`, where nothing is stored. */
export function logOutcome(logger: Logger, keeps: boolean, job: Job, outcome: Outcome): void {
  const { id } = job;
  const attempt = job.attempts + 1;
  if (outcome.to === "verified") {
    const { verification, type } = outcome;
    logger.info?.({ id, attempt, verification, type }, messages.verified);
  } else if (outcome.to === "handled") {
    logger.info?.({ id, attempt, type: outcome.type ?? job.type }, messages.handled);
  } else if (outcome.to === "rejected") {
    logger.info?.({ id, attempt, reason: outcome.reason.code }, messages.rejected);
  } else if (!keeps) {
    logNotHandled(logger, job, outcome);
  } else if (outcome.to === "retry") {
    logRetry(logger, job, outcome);
  } else {
    const { code: reason, message: why } = outcome.reason;
    const fields = { id, reason, why, attempt, ...errorFields(outcome) };
    logger.warn(fields, outcome.to === "held" ? messages.held : messages.dead);
  }
}

/** Writes the lines of what retention did at `now` with parked deliveries. */
export function logPruned(logger: Logger, pruned: Pruned, now: number): void {
  const { announced, parked, madeRoom, noticeMs } = pruned;
  if (sumOf(announced) > 0) {
    const deletedFrom = new Date(now + noticeMs).toISOString();
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
}

/** The sender is answered 503, unless the request itself says why not. */
function logNotHandled(logger: Logger, { id, stage }: Job, outcome: Parked | Retry): void {
  const isToldByAnswer = outcome.to === "retry" ? !outcome.countsAsAttempt : stage === "verify";
  if (isToldByAnswer) return;
  const reason = outcome.to === "retry" ? {} : { reason: outcome.reason.code };
  logger.warn({ id, ...reason, ...errorFields(outcome) }, messages.notHandled);
}

function logRetry(logger: Logger, { id, stage, attempts }: Job, outcome: Retry): void {
  const { afterMs, countsAsAttempt } = outcome;
  const { error, ...err } = errorFields(outcome);
  const attempt = attempts + 1;
  if (stage === "handle" && countsAsAttempt) {
    logger.warn({ id, attempt, error, afterMs, ...err }, messages.handlerFailed);
  } else {
    logger.info?.({ id, stage, attempt, error, afterMs }, messages.postponed);
  }
}

/** The first line of an outcome's error, and the error itself. */
function errorFields({ error, err }: Parked | Retry): {
  readonly error: string | null;
  readonly err?: Error;
} {
  return { error: error?.split("\n", 1)[0] ?? null, ...(err !== undefined && { err }) };
}
