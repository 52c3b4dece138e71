import { contextOf, split } from "../callback-urls/callback-url.ts";
import type { RequestedReport, ServiceAnswer } from "../client/client.ts";
import { reportBody } from "../client/report-request.ts";
import { InvalidReportRequestError } from "../errors.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import { onAbort } from "../lib/abort.ts";
import { safeText } from "../lib/safe-get.ts";
import { describe } from "../lib/text/describe.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { firstOf } from "../lib/time/timeout.ts";
import {
  assertBoolean,
  assertKnownKeys,
  assertOption,
  assertSignal,
  assertSpan,
  jsonText,
} from "../lib/validate.ts";
import type { Requested } from "../observe/instrumentation.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { KeyedRequests } from "./keyed-requests.ts";
import { changeRequest, type KnownRequests } from "./known-requests.ts";
import type { ReportRequests, RequestOptions } from "./reports-type.ts";
import { confirmed, newRequest } from "./request.ts";
import { answerIn, isRefusal, unsure } from "./service-answer.ts";

const heedMs = 1_000;
const known = ["context", "idempotencyKey", "overdueMs", "signal", "resend"];

/** Asks for reports: stores each request, sends it with the callback URL of its id and records the answer. */
export class Asking {
  readonly #settings: ReceiverSettings;
  readonly #requests: KnownRequests;
  readonly #reporter: Reporter;
  /** The calls whose answers are to be recorded, and those that wait for them, by idempotency key. */
  readonly #calls = new Map<string | symbol, Promise<void>>();
  readonly #keyed: KeyedRequests;

  constructor(settings: ReceiverSettings, requests: KnownRequests, reporter: Reporter) {
    this.#settings = settings;
    this.#requests = requests;
    this.#keyed = new KeyedRequests(requests, settings.clock);
    this.#reporter = reporter;
  }

  readonly request: ReportRequests["request"] = async (report, options = {}) => {
    const { callbacks, client, clock, name, time } = this.#settings;
    const { address } = callbacks ?? {};
    if (callbacks === undefined || address === undefined) throw new TypeError(noAddress);
    if (typeof client.requestReport !== "function") throw new TypeError(cannotAsk);
    checkOptions(options);
    const { idempotencyKey = null, overdueMs = callbacks.overdueMs } = options;
    const { context: given, resend, signal } = options;
    const context = given === undefined ? null : jsonText("reports.request: context", given);
    const asked = checkedReport(report);
    await this.#requests.ready();
    const ask = async (traceparent: string | undefined): Promise<Requested> => {
      await time.joinAndKeep();
      const about = { receiver: name, idempotencyKey, report: asked, context, traceparent };
      const made = newRequest(about, overdueMs, clock);
      const { request, isNew } = await this.#keyed.add(made, resend, signal);
      if (!isNew && !(resend && request.state === "unconfirmed")) {
        return { id: request.id, answer: request.answer };
      }
      const webhookUrl = await callbacks.urlOfRequest(address, request.id);
      return this.#send(request, webhookUrl, signal, isNew);
    };
    return this.#inTurn(idempotencyKey, signal, () => this.#reporter.request(ask));
  };

  /** Resolves once all calls on their way, and those that wait for them, have been answered. */
  async ended(): Promise<void> {
    while (this.#calls.size > 0) await Promise.allSettled(this.#calls.values());
  }

  /**
   * Makes a call once those with its idempotency key have ended: it finds what came of them. Rejects with the reason of the signal
   * if that is aborted before.
   */
  async #inTurn<T>(
    idempotencyKey: string | null,
    signal: AbortSignal | undefined,
    call: () => Promise<T>,
  ): Promise<T> {
    const key = idempotencyKey ?? Symbol("none");
    const earlier = this.#calls.get(key);
    const inTurn = async (): Promise<T> => {
      if (earlier !== undefined) await firstOf(earlier, Number.POSITIVE_INFINITY, signal);
      signal?.throwIfAborted();
      return call();
    };
    const calling = inTurn();
    const ended: Promise<void> = Promise.allSettled([earlier, calling]).then(() => {
      if (this.#calls.get(key) === ended) this.#calls.delete(key);
    });
    this.#calls.set(key, ended);
    return calling;
  }

  /** Sends a stored request and records the answer. After a refusal a new one leaves nothing. */
  async #send(
    request: StoredRequest,
    webhookUrl: string,
    signal: AbortSignal | undefined,
    isNew: boolean,
  ): Promise<Requested> {
    const { client, clock } = this.#settings;
    const { id, report } = request;
    const { token } = split(webhookUrl);
    let sent = false;
    const own = new AbortController();
    const ending = { place: -1, abort: () => own.abort(copyOf(signal?.reason, sent)) };
    const listening = signal && onAbort(signal, ending);
    let answer: ServiceAnswer;
    try {
      own.signal.throwIfAborted();
      const end = endOf(own.signal);
      sent = true;
      const asking = client.requestReport?.(
        { ...report, webhook_url: webhookUrl },
        { signal: own.signal, context: contextOf(request) },
      );
      const answering = Promise.resolve(asking).then((given) => answerIn(given, token));
      answer = await Promise.race([answering, end]);
    } catch (error) {
      if (!isNew || !isRefusal(error)) {
        // Another process may wait for the end of this call.
        await this.#record(request, (read) => ({ ...read })).catch(() => {});
        throw unsure(error, id);
      }
      await this.#record(request, (read) => (isCalledOnce(read) ? null : read));
      throw signal?.aborted ? signal.reason : error;
    } finally {
      listening?.delete(ending);
    }
    await this.#record(request, (read) => ({ ...confirmed(read, clock.wallNow()), answer }));
    return { id, answer };
  }

  async #record(
    request: StoredRequest,
    next: (read: StoredRequest) => StoredRequest | null,
  ): Promise<void> {
    try {
      await changeRequest(this.#requests.store, request, next);
    } catch (error) {
      this.#keyed.note(request, true);
      throw unsure(error, request.id, true);
    }
  }
}

/** Whether the service has nothing of a request, unless by its first call. */
const isCalledOnce = ({ state, isResent }: StoredRequest) => state === "unconfirmed" && !isResent;

/** The reason of a signal, for one request: it may be that of other ones too. The client reads whether it was sent. */
function copyOf(reason: unknown, sent: boolean): Error {
  const message = safeText(reason, "message") ?? describe(reason);
  const copy = new DOMException(message, safeText(reason, "name") ?? "AbortError");
  return Object.assign(copy, { cause: reason, sent });
}

/** Rejects with the reason of a signal a second after it: a client of the app may not heed it. */
function endOf(signal: AbortSignal): Promise<never> {
  const end = new Promise<never>((_, reject) => {
    const late = (): void => reject(signal.reason);
    const begin = (): void => void setUnrefTimeout(realClock, late, heedMs);
    signal.addEventListener("abort", begin, { once: true });
  });
  end.catch(() => {});
  return end;
}

const noAddress =
  'receiver.reports.request needs the public address of this receiver: give createReceiver callback: { secrets: [secret], url: "https://app.example/webhooks/reports" }';
const cannotAsk =
  "receiver.reports.request needs a client with requestReport, such as createClient(…) makes";
const ownAddress = {
  field: "webhook_url",
  message: "must be left out: the receiver sets it, with a token of its own",
};

/** The report as it is sent, but for its address. */
function checkedReport(report: RequestedReport): RequestedReport {
  if (report?.webhook_url !== undefined) throw new InvalidReportRequestError([ownAddress]);
  return JSON.parse(reportBody(report));
}

function checkOptions(options: RequestOptions): void {
  assertKnownKeys("reports.request", options, known);
  const { idempotencyKey: key, overdueMs = 1, signal, resend = false } = options;
  assertBoolean("reports.request: resend", resend);
  // Others look alike to some stores.
  const isText = typeof key === "string" && key.isWellFormed() && !key.includes("\0");
  const isKey = isText && key.length >= 1 && key.length <= 200;
  const whose = `reports.request: idempotencyKey${resend ? ", with resend," : ""}`;
  const isLeftOut = key === undefined && !resend;
  assertOption(
    whose,
    "a string of 1 to 200 characters, well-formed and without NUL",
    key,
    isKey || isLeftOut,
  );
  assertSpan("reports.request: overdueMs", overdueMs);
  assertSignal("reports.request: signal", signal);
}
