import { lacksToken, noToken } from "../callback-urls/callback-url.ts";
import type { Authorization } from "../client/authorizer.ts";
import type { Verdict } from "../client/client.ts";
import type { Recognizer } from "../events/recognize.ts";
import type { Lookout } from "../health/health.ts";
import {
  cutOff,
  type Job,
  keyRefused,
  type Outcome,
  park,
  type Recognized,
  reject,
  retryIn,
  signatureLifetimeMs,
} from "../inbox/delivery.ts";
import type { Lease } from "../inbox/inbox.ts";
import { retryStateOf } from "../inbox/transitions.ts";
import type { StopSignal } from "../lib/abort.ts";
import { isPromise } from "../lib/is-promise.ts";
import { tryGet } from "../lib/safe-get.ts";
import { Semaphore } from "../lib/semaphore.ts";
import { describe } from "../lib/text/describe.ts";
import { redactSecrets } from "../lib/text/redact.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { KnownRequests } from "../reports/known-requests.ts";
import { authorizeOnce } from "./authorize.ts";
import { CircuitBreaker, type Permit } from "./circuit-breaker.ts";
import {
  type CallInVain,
  isKeySuspect,
  type Unjudged,
  whyExpired,
  withoutVerdict,
} from "./without-verdict.ts";

const never = Number.NEGATIVE_INFINITY;

/** The verify stage: asks the service whether a delivery is genuine, and decides the outcome. */
export class VerifyStage {
  /** The maximum number of deliveries at a time. */
  readonly concurrency: number;
  readonly #settings: ReceiverSettings;
  readonly #recognizer: Recognizer;
  readonly #reporter: Reporter;
  readonly #known: KnownRequests;
  readonly #lookout: Lookout;
  readonly #breaker: CircuitBreaker;
  readonly #calls: Semaphore;
  #hasGoneSilent = false;
  #refusedAt = never;

  constructor(
    settings: ReceiverSettings,
    recognizer: Recognizer,
    reporter: Reporter,
    known: KnownRequests,
    lookout: Lookout,
  ) {
    this.concurrency = settings.concurrency.verify;
    this.#settings = settings;
    this.#recognizer = recognizer;
    this.#reporter = reporter;
    this.#known = known;
    this.#lookout = lookout;
    this.#breaker = new CircuitBreaker(settings.clock, lookout);
    this.#calls = new Semaphore(this.concurrency);
  }

  /** Ends authorize calls; a running one continues. */
  stop(): void {
    this.#breaker.stop();
  }

  /** Verifies one delivery; postpones it while the service refuses the key or is unavailable. */
  async run(given: Job, { signal }: Pick<Lease, "signal">): Promise<Outcome> {
    const { client, clock, redact } = this.#settings;
    let job = given;
    try {
      if (job.requestId !== null) job = await this.#known.withRequest(job);
    } catch (error) {
      return retryIn(1_000, describe(error, redact), { countsAsAttempt: false });
    }
    for (;;) {
      const permit = signal.aborted ? null : this.#breaker.permit();
      if (permit === null) return this.#notAsked(job, signal);
      // After a wait the lease is not asked for: a second call does no harm, and the outcome of a lost job is not recorded.
      const acquiring = this.#calls.acquire(this.#rankOf(job), signal);
      if (!(isPromise(acquiring) ? await acquiring : acquiring)) return cutOff;
      if (this.#breaker.isStale(permit)) {
        this.#calls.release();
        continue;
      }
      let answer: Authorization;
      const askedAt = clock.now();
      try {
        const ask = () => authorizeOnce(client, job, clock, signal);
        answer = await this.#reporter.verify(job, ask);
      } finally {
        this.#calls.release();
      }
      if (answer.verdict === null) return this.#notJudged(job, answer, permit, signal);
      this.#judged(job, answer.verdict, permit, askedAt);
      return this.#afterVerdict(job, answer.verdict);
    }
  }

  #judged(job: Job, verdict: Verdict, permit: Permit, askedAt: number): void {
    this.#breaker.judged(permit, askedAt);
    this.#reporter.tell("judged", job, verdict);
    if (this.#hasGoneSilent) this.#settings.oncePerMinute.warn({}, messages.verdictsAgain);
    this.#hasGoneSilent = false;
  }

  /** Newest first; deliveries with an expired signature last. */
  #rankOf({ arrivedAt }: Job): number {
    const { clock } = this.#settings;
    const isLate = clock.now() - Math.max(arrivedAt, clock.knownSince) >= signatureLifetimeMs;
    return isLate ? Number.POSITIVE_INFINITY : -arrivedAt;
  }

  #afterVerdict(job: Job, verdict: Verdict): Outcome {
    if (verdict === "invalid") {
      this.#settings.oncePerMinute.warn({ id: job.id }, messages.forged);
      return reject("invalid_signature", "The service did not make this signature.");
    }
    if (verdict === "expired" && !this.#mayRunExpired(job)) return this.#expired(job);
    const verified = { verification: verdict, ...this.#recognized(job) };
    if (lacksToken(job, this.#settings.callbacks)) {
      return { ...park("held", "no_token", noToken), ...verified };
    }
    return { to: "verified", ...verified };
  }

  #mayRunExpired(job: Job): boolean {
    if (job.released) return true;
    return (
      this.#settings.expired === "handle-after-outage" && retryStateOf(job).wasUnanswered === true
    );
  }

  #expired(job: Job): Outcome {
    const why = whyExpired(job, this.#refusedAt);
    const recognized = this.#recognized(job);
    if (this.#settings.expired !== "refuse" || retryStateOf(job).askedAgain) {
      const held = park("held", "expired", `${why} Release it if you trust it.`);
      return { ...held, verification: "expired", ...recognized };
    }
    this.#settings.oncePerMinute.warn({ id: job.id }, messages.expired);
    return { ...reject("expired", why), verification: "expired", ...recognized };
  }

  /** Type and report, for lists. The handle stage recognizes them again, maybe in another process. */
  #recognized(job: Job): Recognized {
    // The handle stage meets the same error of parse, and parks the delivery with it.
    const recognized = tryGet(() => this.#recognizer.recognize(job));
    const { type = null, reportId = null } = recognized?.recognition ?? {};
    return { type, reportId };
  }

  #notJudged(
    job: Job,
    { why, hasAnswered, error: thrown, retryAfterMs }: Authorization & { verdict: null },
    permit: Permit,
    signal: StopSignal,
  ): Outcome {
    const { oncePerMinute, redact } = this.#settings;
    if (why !== "unauthorized" && signal.aborted) return cutOff;
    // Anyone can send a signature that is never asked about.
    const isUnsendable = why === "bad_request" && !hasAnswered;
    const signature = job.signature ?? "";
    if (why === "unauthorized") this.#breaker.unauthorized(permit, signature, retryAfterMs);
    else if (why === "unavailable") this.#breaker.unavailable(permit, retryAfterMs);
    else if (why === "bad_request" && hasAnswered) this.#breaker.odd(permit, signature);
    // The key first: a signature may be a part of what shows it.
    const error = describe(thrown, (line) => redactSecrets(redact(line), { signature }));
    const call = this.#callFor(why, error, retryAfterMs);
    const isKey = isKeySuspect(job, call);
    const outage = isKey ? "unauthorized" : why === "unavailable" ? why : null;
    this.#hasGoneSilent ||= outage !== null;
    if (!isUnsendable) this.#reporter.tell("noVerdict", job, outage, hasAnswered, error);
    if (isKey) {
      this.#refusedAt = call.now;
      oncePerMinute.error({ error }, messages.keyRefused);
      return withoutVerdict(job, { ...call, error: `${keyRefused}: ${error}` });
    }
    oncePerMinute.warn({ id: job.id, error }, messages.noVerdict);
    return withoutVerdict(job, call);
  }

  #notAsked(job: Job, signal: StopSignal): Outcome {
    const { open } = this.#breaker;
    if (signal.aborted || open === null) return cutOff;
    const isKey = open === "unauthorized";
    const why = isKey ? `${keyRefused}: not asked` : "Not asked: the service does not answer";
    // The error of its last call says more.
    const error = job.lastError ?? why;
    return withoutVerdict(job, this.#callFor("not asked", error, 0));
  }

  #callFor(why: Unjudged, error: string, retryAfterMs: number): CallInVain {
    const { open, openMs, judgedAt, isOdd } = this.#breaker;
    const { clock } = this.#settings;
    const { judgedAt: judgedAnywhereAt } = this.#lookout;
    const service = { open, openMs, judgedAt, judgedAnywhereAt, isOdd };
    const { knownSince } = clock;
    return { why, error, retryAfterMs, now: clock.now(), knownSince, ...service };
  }
}
