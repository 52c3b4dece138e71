import { type Callbacks, contextText } from "../callback-urls/callback-url.ts";
import type { RequestedReport } from "../client/client.ts";
import { reportBody } from "../client/report-request.ts";
import { InvalidReportRequestError, ReporthookError } from "../errors.ts";
import { checkChoice, checkText } from "../inbox/receiver-inbox.ts";
import type { RequestStore } from "../inbox/request-store.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { assertKnownKeys, assertMs, assertOption, assertSpan } from "../lib/validate.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { askOnce, newRequest } from "./asking.ts";
import type { KnownRequests } from "./known-requests.ts";
import { storedReports } from "./looking.ts";
import type { ReportRequests, RequestOptions } from "./reports-type.ts";
import { requestRecordOf } from "./request.ts";

const known = ["context", "idempotencyKey", "overdueMs", "signal", "resend"];
const [firstMs, lastMs] = [250, 5_000];

/** Makes the reports of a receiver: it asks for them, and waits for their end. */
export function createReports(
  settings: ReceiverSettings,
  callbacks: Callbacks | null,
  requests: KnownRequests,
  reporter: Pick<Reporter, "request">,
  prune: () => Promise<void>,
): ReportRequests {
  const { ack, callback, client, clock, name, time } = settings;
  const kept = (): RequestStore => {
    if (ack === "handled") throw new TypeError(nothingKept);
    return requests.store;
  };
  const ready = async (): Promise<RequestStore> => {
    const store = kept();
    await time.join();
    await prune();
    return store;
  };

  const request: ReportRequests["request"] = async (report, options = {}) => {
    kept();
    if (callbacks === null || callback?.url === undefined) throw new TypeError(noAddress);
    const { url } = callback;
    if (typeof client.requestReport !== "function") throw new TypeError(cannotAsk);
    checkOptions(options);
    const { idempotencyKey = null, overdueMs = callback.overdueMs } = options;
    const { context: given, resend, signal } = options;
    const context = given === undefined ? null : contextText("reports.request", given);
    const asked = checkedReport(report);
    const ask = async (traceparent: string | undefined) => {
      await time.joinAndKeep();
      const content = { receiver: name, idempotencyKey, report: asked, context, traceparent };
      const made = newRequest(content, overdueMs, clock);
      const urlOf = (id: string) => callbacks.urlOfRequest(url, id);
      return askOnce(made, { resend, signal }, settings, requests, urlOf);
    };
    return requests.ask(idempotencyKey, signal, () => reporter.request(ask));
  };

  const wait: ReportRequests["wait"] = async (id, options = {}) => {
    checkText("reports.wait: id", id);
    assertKnownKeys("reports.wait", options, ["timeoutMs", "signal"]);
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
    assertMs("reports.wait: timeoutMs", timeoutMs);
    checkSignal("reports.wait: signal", signal);
    kept();
    await time.join();
    // A virtual clock may stand still, or leap.
    const [since, realSince] = [clock.now(), realClock.now()];
    const left = (): number =>
      timeoutMs - Math.max(clock.now() - since, realClock.now() - realSince);
    for (let ms = firstMs; ; ms = Math.min(1.5 * ms, lastMs)) {
      signal?.throwIfAborted();
      const request = await requests.get(id);
      if (request.settledAt !== null) return requestRecordOf(request);
      if (left() <= 0) {
        const message = `Request ${id} is ${request.state} after ${timeoutMs} ms`;
        throw new ReporthookError("wait_timeout", message);
      }
      await requests.pause(Math.min(ms, left()), signal);
    }
  };

  return Object.freeze({ ...storedReports(settings, requests, ready), request, wait });
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
function checkedReport(report: RequestedReport): RequestedReport {
  if (report?.webhook_url !== undefined) throw new InvalidReportRequestError([ownAddress]);
  return JSON.parse(reportBody(report));
}

function checkOptions(options: RequestOptions): void {
  assertKnownKeys("reports.request", options, known);
  const { idempotencyKey: key, overdueMs = 1, signal, resend = false } = options;
  checkChoice("reports.request: resend", resend);
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
  checkSignal("reports.request: signal", signal);
}

function checkSignal(name: string, given: AbortSignal | undefined): void {
  const fits = given === undefined || typeof given?.throwIfAborted === "function";
  assertOption(name, "an AbortSignal", given, fits);
}
