import type { Callbacks } from "../callback-urls/callback-url.ts";
import type { RequestedReport } from "../client/client.ts";
import { reportBody } from "../client/report-request.ts";
import { InvalidReportRequestError, ReporthookError } from "../errors.ts";
import type { Life } from "../inbox/receivers.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import { describe } from "../lib/describe.ts";
import { safeGet } from "../lib/safe-get.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { assertKnownKeys, assertMs, assertOption } from "../lib/validate.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { askOnce, newRequest } from "./asking.ts";
import type { KnownRequests } from "./known-requests.ts";
import { assertOpen, checkId, found, keepsNone, storedReports } from "./looking.ts";
import type { ReportRequests, RequestOptions } from "./reports-type.ts";
import { isSettled, requestRecordOf } from "./request.ts";
import { WaitingCalls } from "./waiting-calls.ts";

const known = ["context", "idempotencyKey", "overdueMs", "signal", "resend"];
const [firstMs, lastMs] = [250, 5_000];

/** The reports of a receiver, and what ends them. */
export interface OwnReports {
  readonly reports: ReportRequests;
  /** The receiver is closed: nothing is recorded any more, and nobody waits. */
  end(): void;
}

/** Makes the reports of a receiver: it asks for them, and waits for their end. */
export function createReports(
  settings: ReceiverSettings,
  callbacks: Callbacks | null,
  requests: KnownRequests,
  life: Life,
  reporter: Pick<Reporter, "request">,
  prune: () => Promise<void>,
): OwnReports {
  const { ack, callback, client, clock, name, time } = settings;
  const waiting = new WaitingCalls();
  requests.onSettled = waiting.wake;
  const checkKept = (): void => {
    if (ack === "handled") throw new TypeError(nothingKept);
    if (requests.store === undefined) throw new TypeError(keepsNone);
  };
  const ready = async (): Promise<void> => {
    checkKept();
    assertOpen(life, name);
    await time.join();
    await prune();
  };

  const request: ReportRequests["request"] = async (report, options = {}) => {
    checkKept();
    const url = callback?.url;
    if (callbacks === null || url === undefined) throw new TypeError(noAddress);
    if (typeof client.requestReport !== "function") throw new TypeError(cannotAsk);
    const { signal, idempotencyKey = null, resend = false, ...rest } = checked(options);
    const { overdueMs = callback?.overdueMs ?? 86_400_000 } = rest;
    const context = contextText(rest.context);
    const asked = checkedReport(report, url);
    assertNotAborted(signal);
    assertOpen(life, name);
    return reporter.request(async (traceparent) => {
      await time.joinAndKeep();
      const known = { receiver: name, idempotencyKey, context, traceparent };
      const made = newRequest(known, asked, overdueMs, clock);
      return askOnce(made, { signal, resend }, { ...settings, url }, callbacks, requests);
    });
  };

  const wait: ReportRequests["wait"] = async (id, options = {}) => {
    checkKept();
    checkId("wait", id);
    assertKnownKeys("reports.wait", options, ["timeoutMs", "signal"]);
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
    assertMs("reports.wait: timeoutMs", timeoutMs);
    await time.join();
    // A virtual clock may stand still, or leap.
    const [since, realSince] = [clock.now(), realClock.now()];
    const left = (): number =>
      timeoutMs - Math.max(clock.now() - since, realClock.now() - realSince);
    for (let ms = firstMs; ; ms = Math.min(1.5 * ms, lastMs)) {
      signal?.throwIfAborted();
      assertOpen(life, name);
      const request = found(await requests.find(id), id);
      if (isSettled(request)) return requestRecordOf(request);
      if (left() <= 0) throw waitedFor(request, timeoutMs);
      await waiting.pause(Math.min(ms, left()), signal);
    }
  };

  const end = (): void => {
    requests.isClosed = true;
    waiting.wake();
  };
  const reports = { ...storedReports(settings, requests, ready), request, wait };
  return { reports: Object.freeze(reports), end };
}

const noAddress =
  'receiver.reports.request needs the option callback with secrets and url, the public address of this receiver, like "https://app.example/webhooks/reports"';
const cannotAsk =
  "receiver.reports.request needs a client with requestReport, such as createClient(…) makes";
const nothingKept =
  'receiver.reports needs ack: "stored", the default: with ack: "handled" nothing is kept of a request';
const ownAddress = {
  field: "webhook_url",
  message: "must be left out: the receiver sets it, with a token of its own",
};

/** The report as it is sent, but for its address. */
function checkedReport(report: RequestedReport, url: string): RequestedReport {
  if (report?.webhook_url !== undefined) throw new InvalidReportRequestError([ownAddress]);
  const body = JSON.parse(reportBody({ ...report, webhook_url: url })) as RequestedReport;
  const { webhook_url: _, ...asked } = body;
  return asked;
}

function checked(options: RequestOptions): RequestOptions {
  assertKnownKeys("reports.request", options, known);
  const { idempotencyKey: key, overdueMs = 1, signal, resend = false } = options;
  const isKey = typeof key === "string" && key.length >= 1 && key.length <= 200;
  const expected = "a string of 1 to 200 characters";
  assertOption("reports.request: idempotencyKey", expected, key, key === undefined || isKey);
  const isSpan = Number.isSafeInteger(overdueMs) && overdueMs > 0 && overdueMs < 1e13;
  assertOption("reports.request: overdueMs", "milliseconds from 1", overdueMs, isSpan);
  const isSignal = signal === undefined || typeof signal?.throwIfAborted === "function";
  assertOption("reports.request: signal", "an AbortSignal", signal, isSignal);
  assertOption("reports.request: resend", "true or false", resend, typeof resend === "boolean");
  if (resend) assertOption("reports.request: idempotencyKey, with resend,", expected, key, isKey);
  return options;
}

/** Throws the reason of an aborted signal, without the id of a request that it has ended before. */
function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  const { reason } = signal;
  if (safeGet(reason, "requestId") === undefined) throw reason;
  throw new DOMException(`${describe(reason)}; nothing was sent`, "AbortError");
}

function contextText(context: unknown): string | null {
  if (context === undefined) return null;
  const text: string | undefined = JSON.stringify(context);
  if (text !== undefined) return text;
  throw new TypeError("reports.request: context must be something that JSON can hold");
}

function waitedFor({ id, state }: StoredRequest, timeoutMs: number): ReporthookError {
  return new ReporthookError("wait_timeout", `Request ${id} is ${state} after ${timeoutMs} ms`);
}
