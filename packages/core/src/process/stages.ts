import type { Authorization, WithoutVerdict } from "../client/authorizer.ts";
import { DoNotRetry, ReporthookError, RetryAfter } from "../errors.ts";
import type { EventOf } from "../events/events.ts";
import { recognize, toObject } from "../events/recognize.ts";
import {
  again,
  type Job,
  leave,
  type Outcome,
  type Recognized,
  signatureLifetimeMs,
  stopped,
} from "../inbox/delivery.ts";
import type { Health } from "../inbox/health.ts";
import { keyRefused } from "../inbox/key-refused.ts";
import type { StopSignal } from "../lib/abort.ts";
import { describe } from "../lib/describe.ts";
import { isPromise } from "../lib/is-promise.ts";
import { oncePerMinute } from "../lib/log.ts";
import { without } from "../lib/redact.ts";
import { createPlaces } from "../lib/semaphore.ts";
import { account, shownError, withError } from "../lib/thrown.ts";
import { within } from "../lib/timeout.ts";
import type { Around } from "../observe/instrumentation.ts";
import type { Settings } from "../options/settings.ts";
import { verify } from "./authorize.ts";
import { authorizeDelay, handlerDelay } from "./backoff.ts";
import { createGate, type Pass } from "./circuit-breaker.ts";
import { dispatch, handlersFor, type Registration } from "./handlers.ts";
import { createNoHandler } from "./no-handler.ts";
import { isJudgedSince, type Memo, memoAfter, memoOf, whyExpired } from "./retry-state.ts";
import { toEvent } from "./to-event.ts";

type Needed =
  | ("client" | "clock" | "logger" | "parse" | "schemas" | "expired" | "reusedSignature" | "retry")
  | ("concurrency" | "handlerTimeoutMs" | "clean");

/** What the work on deliveries needs to know. */
export interface WorkerOptions extends Pick<Settings, Needed> {
  readonly registrations: readonly Registration[];
  readonly around?: Around | undefined;
}

/** The work of the two stages. */
export interface Worker {
  /** The work begins: says so when nothing is registered for it. */
  begin(): void;
  /** While the service refuses the key or is silent, it postpones. */
  verify(job: Job, signal: StopSignal): Promise<Outcome>;
  handle(job: Job, signal: StopSignal): Promise<Outcome>;
  /** No authorize call begins any more; one under way goes on. */
  stopVerifying(): void;
  /** How the service answered last. */
  readonly service: Health["service"];
}

const giveUpMs = 3_600_000;
const releasedAttempts = 12;
const oddAnswers = 3;
const othersJudgedMs = 60_000;
const longestYoungMs = 10_000;
// A hundred years: what comes later than any Date can't be stored.
const longestWaitMs = 3_155_760_000_000;

/** Makes the work of both stages: the only place that knows their order, and decides to retry or to park. */
export function createWorker(options: WorkerOptions): Worker {
  const { around, clean, client, clock, registrations, retry } = options;
  const gate = createGate(clock);
  const places = createPlaces(options.concurrency.verify);
  const noHandler = createNoHandler(options);
  const refused = oncePerMinute(clock, options.logger.error);
  const unanswered = oncePerMinute(clock, options.logger.warn);
  const expired = oncePerMinute(clock, options.logger.warn);
  const rejected = oncePerMinute(clock, options.logger.warn);
  const never = Number.NEGATIVE_INFINITY;
  const last = { verdict: never, refused: never };
  let service: Health["service"] = "unknown";

  async function verifyStage(job: Job, signal: StopSignal): Promise<Outcome> {
    const pass = signal.aborted ? null : gate.pass();
    if (pass === null) return signal.aborted || gate.closed === null ? stopped : notAsked(job);
    const at = job.receivedAt.getTime();
    const late = clock.now() - at >= signatureLifetimeMs;
    const taking = places.take(late ? Number.POSITIVE_INFINITY : -at, signal);
    if (!(isPromise(taking) ? await taking : taking)) return stopped;
    if (pass.stale) {
      places.leave();
      return verifyStage(job, signal);
    }
    const ask = () => verify(client, job, clock, signal);
    const answer = await (around === undefined ? ask() : around.verify(job, ask));
    places.leave();
    if (answer.verdict === null) return withoutVerdict(job, answer, pass, signal);
    pass.judged();
    service = "ok";
    last.verdict = clock.now();

    if (answer.verdict === "invalid") {
      rejected(
        { id: job.id },
        "A notification is rejected: the service did not make its signature. If all are, check apiKey and baseUrl.",
      );
      return leave("rejected", "invalid_signature", "The service did not make this signature.");
    }
    if (answer.verdict === "expired" && !mayRunExpired(job)) {
      const why = whyExpired(job, last.refused);
      if (options.expired === "refuse") {
        expired(
          { id: job.id },
          "A notification is refused because its signature expired. Held (the option expired), it would wait for a person.",
        );
      }
      return {
        ...(options.expired === "refuse"
          ? leave("rejected", "expired", why)
          : leave("held", "expired", `${why} Release it if you trust it.`)),
        ...{ verification: "expired", ...recognized(job) },
      };
    }
    return { to: "verified", verification: answer.verdict, ...recognized(job) };
  }

  function withoutVerdict(
    job: Job,
    { why, error, retryAfterMs }: Authorization & { verdict: null },
    pass: Pass,
    signal: StopSignal,
  ): Outcome {
    const text = describe(error, (line) =>
      clean(without(line, { signature: job.signature ?? "" })),
    );
    if (why !== "refused" && signal.aborted) return stopped;
    if (why === "odd") pass.answered();
    else if (why === "silent") pass.silent(retryAfterMs);
    else if (why === "refused") pass.refused(job.signature ?? "", retryAfterMs);
    const memo = memoAfter(job, why, stage());
    if (why === "refused" && isKeySuspect(memo)) {
      service = "refused";
      last.refused = clock.now();
      refused(
        { error: text },
        "The service refuses the API key: verification is paused, nothing is lost. Check apiKey.",
      );
      return postpone(job, why, `${keyRefused}: ${text}`, memo, retryAfterMs);
    }
    if (why === "silent") service = "unreachable";
    unanswered(
      { id: job.id, error: text },
      "The service gives no verdict. If it stays so, check baseUrl and whether the service is reachable.",
    );
    return postpone(job, why, text, memo, retryAfterMs);
  }

  const stage = () => ({ now: clock.now(), closed: gate.closed, judgedAt: last.verdict });

  /** Until another signature is judged, a refusal of the first ones is a matter of the key. */
  function isKeySuspect(memo: Memo): boolean {
    return gate.closed === "refused" || (last.verdict === never && memo.odd === 1);
  }

  function notAsked(job: Job): Outcome {
    const isRefused = gate.closed === "refused";
    const why = isRefused ? `${keyRefused}: not asked` : "Not asked: the service does not answer";
    // What its own last call met says more.
    const text = job.lastError ?? why;
    return postpone(job, "not asked", text, memoAfter(job, "not asked", stage()));
  }

  function postpone(
    job: Job,
    why: WithoutVerdict | "not asked",
    text: string,
    memo: Memo,
    retryAfterMs = 0,
  ): Outcome {
    const age = clock.now() - job.receivedAt.getTime();
    const asked = why !== "not asked";
    const othersJudged = clock.now() - last.verdict < othersJudgedMs;
    const isOwn = why === "refused" ? isJudgedSince(memo, last.verdict) : othersJudged;
    if (asked && (memo.odd ?? 0) >= oddAnswers && isOwn) {
      const message = `The service judges other signatures, but not this one. Last: ${text}`;
      return leave("held", "not_verified", message, text);
    }
    // Since it came none was judged: it had no chance yet.
    const paused =
      last.verdict < job.receivedAt.getTime() &&
      (gate.closed === "refused" || (why === "refused" && isKeySuspect(memo)));
    // A released one is older than that: it has as many calls as fit into an hour.
    if (!paused && (job.released ? job.attempts + 1 >= releasedAttempts : age >= giveUpMs)) {
      const message = `The service gave no verdict for an hour. Last: ${text}`;
      return leave("held", "not_verified", message, text);
    }
    const past = age >= signatureLifetimeMs;
    const ownMs = asked || past ? authorizeDelay(job.attempts + 1, age, retryAfterMs) : 0;
    // Refusals are not counted before they are known to be its own: its age says as much.
    const refusedMs = why === "refused" ? Math.min(age, longestYoungMs) : 0;
    const delay = Math.max(ownMs, refusedMs, gate.closedMs);
    // Whoever sends junk must not keep genuine ones waiting, nor be the probe each time.
    const tried = job.attempts > 0 || gate.closed !== null;
    const junk = asked && (othersJudged || why === "odd" || why === "refused" || tried);
    const patience = job.released || paused ? delay : Math.min(delay, giveUpMs - age);
    return again(patience, text, {
      counts: asked ? why !== "refused" || isJudgedSince(memo, last.verdict) : job.released,
      memo: JSON.stringify(memo),
      // Once it gave way it goes on to.
      ...((past || junk) && { giveWay: true }),
    });
  }

  function mayRunExpired(job: Job): boolean {
    if (job.released) return true;
    return options.expired === "handle-after-outage" && memoOf(job).outage === true;
  }

  function recognized(job: Job): Recognized {
    const object = toObject(job.body);
    try {
      if (object === null) return nothing;
      const { type, reportId } = recognize(object, job.headers, options.parse);
      return { type, reportId };
    } catch {
      // The handle stage meets the same error, and parks the delivery with it.
      return nothing;
    }
  }

  async function handleStage(job: Job, signal: StopSignal): Promise<Outcome> {
    let event: EventOf | null;
    try {
      const making = toEvent(job, options);
      event = isPromise(making) ? await inTime(making, signal) : making;
    } catch (error) {
      if (signal.aborted) return stopped;
      const mismatch = error instanceof ReporthookError && error.code === "schema_mismatch";
      const text = describe(error, clean);
      if (mismatch) return leave("dead", "schema_mismatch", text, text);
      return failedWith(error, leave("dead", "not_understood", text, account(error, clean)));
    }
    if (event === null) {
      return leave("dead", "not_understood", "The body is not a JSON object.");
    }
    if (options.reusedSignature === "hold" && job.sameSignatureAs !== null && !job.released) {
      const message = `Its signature came with other bytes, or at another address: ${job.sameSignatureAs}. Release it if you trust both.`;
      return leave("held", "reused_signature", message);
    }
    const { type } = event;
    const reportId = "reportId" in event ? event.reportId : null;
    const handlers = handlersFor(registrations, event, job.released);
    if (handlers.length === 0) return noHandler.outcomeOf(job, { type, reportId });
    const attempt = job.attempts + 1;
    const bounds = { clock, attempt, timeoutMs: options.handlerTimeoutMs, signal };
    const run = () => dispatch(handlers, event, bounds);
    const failures = await (around === undefined ? run() : around.handle(job, run));
    if (failures.length === 0) return { to: "handled", type, reportId };
    if (signal.aborted) return stopped;
    return afterFailure(job, failures, { type, reportId });
  }

  function inTime<T>(validating: Promise<T>, signal: StopSignal): Promise<T> {
    const ms = options.handlerTimeoutMs;
    const late = `The schema took longer than handlerTimeoutMs (${ms} ms)`;
    return within({ clock, ms, late, parent: signal }, () => validating);
  }

  function afterFailure(
    job: Job,
    failures: readonly unknown[],
    recognized: Partial<Recognized> = {},
  ): Outcome {
    const failure =
      failures.length === 1 ? failures[0] : new AggregateError(failures, "Several handlers failed");
    return failedWith(failure, { ...outcomeOf(job, failures, failure), ...recognized });
  }

  function failedWith(failure: unknown, outcome: Outcome): Outcome {
    return withError(outcome, shownError(failure, clean));
  }

  function outcomeOf(job: Job, failures: readonly unknown[], failure: unknown): Outcome {
    const text = account(failure, clean);
    const attempts = job.attempts + 1;
    const final = failures.find(DoNotRetry.is);
    if (final !== undefined) return leave("dead", "do_not_retry", describe(final, clean), text);
    if (attempts >= retry.attempts) {
      return leave(
        "dead",
        "attempts_used_up",
        `${attempts} attempts failed. Last: ${describe(failure, clean)}`,
        text,
      );
    }
    const asked = failures.find(RetryAfter.is)?.when;
    return again(asked === undefined ? handlerDelay(attempts, retry) : untilAsked(asked), text, {
      counts: true,
    });
  }

  function untilAsked(when: number | Date): number {
    const ms = typeof when === "number" ? when : when.getTime() - clock.now();
    return Math.min(Math.max(0, ms), longestWaitMs);
  }

  return {
    begin: noHandler.atStart,
    verify: verifyStage,
    // What fails here and should not is an attempt like any other: it must come to an end.
    handle: (job, signal) =>
      handleStage(job, signal).catch((error: unknown) =>
        signal.aborted ? stopped : afterFailure(job, [error]),
      ),
    stopVerifying: gate.stop,
    get service() {
      return service;
    },
  };
}

const nothing: Recognized = { type: null, reportId: null };
