import { type Callbacks, contextOf, split } from "../callback-urls/callback-url.ts";
import type { RequestedReport, ServiceAnswer } from "../client/client.ts";
import { reportBody } from "../client/report-request.ts";
import { responseIn } from "../client/service-response.ts";
import { InvalidReportRequestError, ReporthookError, ServiceError } from "../errors.ts";
import { newId } from "../inbox/id.ts";
import type { RequestStore, StoredRequest } from "../inbox/request-store.ts";
import { onAbort } from "../lib/abort.ts";
import { safeGet, safeText, tryGet } from "../lib/safe-get.ts";
import { describe } from "../lib/text/describe.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { realClock } from "../lib/time/real-timers.ts";
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
import { changeRequest, type KnownRequests } from "./known-requests.ts";
import type { ReportRequests, RequestOptions } from "./reports-type.ts";
import { confirmed } from "./request.ts";

const heedMs = 1_000;
const known = ["context", "idempotencyKey", "overdueMs", "signal", "resend"];

/** Makes the method that asks for reports. */
export function createAsking(
  settings: ReceiverSettings,
  callbacks: Callbacks | null,
  requests: KnownRequests,
  reporter: Reporter,
): ReportRequests["request"] {
  const { callback, client, clock, name, time } = settings;
  return async (report, options = {}) => {
    if (callbacks === null || callback?.url === undefined) throw new TypeError(noAddress);
    const { url } = callback;
    if (typeof client.requestReport !== "function") throw new TypeError(cannotAsk);
    checkOptions(options);
    const { idempotencyKey = null, overdueMs = callback.overdueMs } = options;
    const { context: given, resend, signal } = options;
    const context = given === undefined ? null : jsonText("reports.request: context", given);
    const asked = checkedReport(report);
    const ask = async (traceparent: string | undefined) => {
      await time.joinAndKeep();
      const wallNow = clock.wallNow();
      const made: StoredRequest = {
        receiver: name,
        idempotencyKey,
        report: asked,
        context,
        traceparent,
        id: newId(wallNow),
        state: "unconfirmed",
        dueAt: clock.now() + overdueMs,
        settledAt: null,
        version: 0,
        reportId: null,
        answer: null,
        dates: {
          requestedAt: wallNow,
          dueAt: wallNow + overdueMs,
          confirmedAt: null,
          processingAt: null,
          settledAt: null,
          overdueAt: null,
        },
        brought: {},
      };
      const urlOf = (id: string) => callbacks.urlOfRequest(url, id);
      return askOnce(made, { resend, signal }, settings, requests, urlOf);
    };
    await requests.ready();
    return requests.ask(idempotencyKey, signal, () => reporter.request(ask));
  };
}

/** Stores a request, sends it with the callback URL of its id and records the answer, unless another one with its key is known. */
async function askOnce(
  made: StoredRequest,
  { resend, signal }: Pick<RequestOptions, "resend" | "signal">,
  { client, clock }: ReceiverSettings,
  requests: KnownRequests,
  urlOf: (id: string) => Promise<string>,
): Promise<Requested> {
  const earlier = await add(made, requests.store);
  if (earlier !== null && !(resend && earlier.state === "unconfirmed")) {
    return { id: earlier.id, answer: earlier.answer };
  }
  const request = earlier ?? made;
  const { id, report } = request;
  const webhookUrl = await urlOf(id);
  const record = async (next: (read: StoredRequest) => StoredRequest | null): Promise<void> => {
    try {
      await changeRequest(requests.store, request, next);
    } catch (error) {
      throw unsure(error, id, true);
    }
  };
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
    const given = await Promise.race([Promise.resolve(asking).then(answerIn), end]);
    answer = withoutToken(given, split(webhookUrl).token);
  } catch (error) {
    if (earlier !== null || !isRefusal(error)) throw unsure(error, id);
    await record((read) => (read.state === "unconfirmed" ? null : read));
    throw signal?.aborted ? signal.reason : error;
  } finally {
    listening?.delete(ending);
  }
  await record((read) => ({ ...confirmed(read, clock.wallNow()), answer }));
  return { id, answer };
}

/** Stores a request and resolves to null; to the one that has its key, if there is one. */
async function add(request: StoredRequest, store: RequestStore): Promise<StoredRequest | null> {
  const earlier = await store.add(request);
  if (earlier === null || contentOf(earlier) === contentOf(request)) return earlier;
  const message = `The idempotencyKey is that of request ${earlier.id}, for another report or context: give each request a key of its own`;
  throw new ReporthookError("idempotency_key_reused", message);
}

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

/** The report and the context of a request as text: the same for equal ones. */
function contentOf(request: StoredRequest): string {
  const content = [request.report, contextOf(request)];
  return JSON.stringify(content, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

/** Whether the service certainly has nothing of it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof InvalidReportRequestError || safeGet(error, "sent") === false) return true;
  const status = safeGet(error, "serviceStatus") ?? responseIn(error)?.status;
  const isTemporary = status === 408 || status === 429;
  return typeof status === "number" && status >= 400 && status < 500 && !isTemporary;
}

/** The error of a request that the service may have: the one that was thrown, unless that may be the error of other requests too. */
function unsure(thrown: unknown, requestId: string, isShared = false): Error {
  const about = { requestId, retryable: false };
  const mayGet = thrown instanceof Error && Object.isExtensible(thrown) && !("requestId" in thrown);
  if (mayGet && !isShared) return Object.assign(thrown, about);
  const message = `${describe(thrown)}; the service may have request ${requestId}`;
  const code = thrown instanceof ReporthookError ? thrown.code : "service_failed";
  return Object.assign(new ReporthookError(code, message, { cause: thrown }), about);
}

/** The answer that a client gives. One of the app may give the body itself, whose status is no number, or a `Response`. */
async function answerIn(given: unknown): Promise<ServiceAnswer> {
  const named = [safeGet(given, "status"), safeGet(given, "statusCode")];
  const status = named.find((each) => typeof each === "number") ?? 200;
  const body = safeGet(given, "body");
  if (typeof safeGet(given, "text") === "function") {
    // Something else may have read it.
    const text = await (given as Response).text().catch(() => null);
    return { status, body: tryGet((): unknown => JSON.parse(text ?? "")) ?? text };
  }
  const isAnswer = body !== undefined || named.some((each) => typeof each === "number");
  return { status, body: (isAnswer ? body : given) ?? null };
}

/** The answer as JSON holds it, without the token, which the service may repeat. Throws a ServiceError if it is no success. */
function withoutToken({ status, body }: ServiceAnswer, token: string | null): ServiceAnswer {
  if (!(status >= 200 && status < 300)) {
    const message = `requestReport of the client answered ${status}, which confirms no request`;
    throw new ServiceError("service_failed", message, { serviceStatus: status, retryable: false });
  }
  const text = jsonText("What requestReport of the client answers", { status, body });
  return JSON.parse(token === null ? text : text.replaceAll(token, "[callback token]"));
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
