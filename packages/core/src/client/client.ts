import { split } from "../callback-urls/callback-url.ts";
import { safeText } from "../lib/safe-get.ts";
import { createKeyRedactor, type Secrets } from "../lib/text/redact.ts";
import { assertKnownKeys, assertSignal, fail, typeName } from "../lib/validate.ts";
import { callService, type Fetch, type ServiceAnswer } from "./call-service.ts";
import {
  carriedOverHttp,
  checkApiKey,
  checkBaseUrl,
  checkHeaderValue,
  type ReportAuth,
} from "./client-options.ts";
import { type ReportRequest, reportBody } from "./report-request.ts";

export type { ServiceAnswer } from "./call-service.ts";
export type { ReportRequest, RequestedReport } from "./report-request.ts";

/** Options of {@link createClient}. */
export interface ClientOptions {
  /** Absolute http(s) address of the service; may have a path and a trailing slash. */
  readonly baseUrl: string;
  /** The key, or a function called before each request (for rotation). */
  readonly apiKey: string | (() => string | Promise<string>);
  /** Used instead of the global `fetch`, which is looked up at every call. */
  readonly fetch?: Fetch | undefined;
  /** Time limit of a call including its answer, in milliseconds; 10,000 when left out. */
  readonly timeoutMs?: number | undefined;
  /**
   * How {@link Client.requestReport} carries the key; the document does not show it. `"header"` (`api-key`, when
   * left out), `"query"` (`api_key`) or `"none"`.
   */
  readonly reportAuth?: ReportAuth | undefined;
}

/**
 * The service's answer about a signature (document, section "Verify a notification signature"): `"valid"` (200), `"invalid"`, not
 * from the service (406), or `"expired"`, from the service and older than 5 minutes (424).
 */
export type Verdict = "valid" | "invalid" | "expired";

/** The delivery that a signature came with. */
export interface DeliveryInfo {
  /** Path and query it arrived at, without a callback token. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The context of its callback URL; undefined without a valid token. */
  readonly context?: unknown;
}

/** Options of {@link Client.authorize}. */
export interface AuthorizeOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The delivery, for a client that selects a key by it; `createClient` ignores it. */
  readonly delivery?: DeliveryInfo | undefined;
}

/** Options of {@link Client.requestReport}. */
export interface RequestReportOptions {
  /** Aborts the call, which then rejects with the signal's reason: the service may have the request all the same. */
  readonly signal?: AbortSignal | undefined;
  /** The context of the request, for a client that selects a key by it; `createClient` ignores it. */
  readonly context?: unknown;
}

/** The service's operations (document, section "Endpoints"). None retries; the methods need no `this`. */
export interface Client {
  /**
   * Asks whether a notification's signature is the service's (document, section "Verify a notification signature").
   *
   * Rejects with a `ServiceError` when there is no verdict, with a `TypeError` when no header can carry the signature,
   * and with what the function of the option `apiKey` throws.
   */
  authorize(signature: string, options?: AuthorizeOptions): Promise<Verdict>;
  /**
   * Has a test notification sent to an address (document, section "Test a webhook address").
   *
   * Rejects with a `ServiceError`, or an `InvalidReportRequestError` when it is no absolute http(s) URL.
   */
  testWebhook(webhookUrl: string): Promise<ServiceAnswer>;
  /**
   * Asks for a report (document, section "Request a report"). Asked for twice, it may be charged twice.
   *
   * Rejects with a `ServiceError`, or an `InvalidReportRequestError` that lists every problem. One with `serviceStatus` 2xx broke off
   * after the service had taken the request: it is not `retryable`.
   */
  requestReport(report: ReportRequest, options?: RequestReportOptions): Promise<ServiceAnswer>;
}

const known: readonly string[] = ["baseUrl", "apiKey", "fetch", "timeoutMs", "reportAuth"];

const reportAuths: readonly ReportAuth[] = ["header", "query", "none"];

/** A timer that is set for longer fires at once. */
const longestMs = 2_147_483_647;

const verdicts: ReadonlyMap<number, Verdict> = new Map([
  [200, "valid"],
  [406, "invalid"],
  [424, "expired"],
]);

/**
 * Creates a client of the service. The API key appears in no error, and in nothing that is logged of a client.
 *
 * @throws TypeError that names the option, when one is wrong.
 * @example
 * const client = createClient({ baseUrl: "https://reports.example", apiKey: () => process.env["REPORTS_API_KEY"] ?? "" });
 * const verdict = await client.authorize(request.headers.get("X-svc-authorization") ?? "");
 */
export function createClient(options: ClientOptions): Client {
  assertKnownKeys("createClient", options, known);
  const baseUrl = checkBaseUrl(options.baseUrl);
  const { used, carried } = createKeyRedactor();
  const apiKey = keySource(options.apiKey, used);
  const { fetch, timeoutMs = 10_000, reportAuth = "header" } = options;
  // Values are not quoted: one may be the key, in a wrong place.
  if (fetch !== undefined && typeof fetch !== "function")
    fail("fetch", "a function", typeName(fetch));
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > longestMs) {
    fail("timeoutMs", `an integer of milliseconds from 1 to ${longestMs}`, typeName(timeoutMs));
  }
  if (!reportAuths.includes(reportAuth)) {
    fail("reportAuth", '"header", "query" or "none"', typeName(reportAuth));
  }

  const service = { baseUrl, apiKey, fetch, timeoutMs };

  return {
    ...carried,
    ...carriedOverHttp(baseUrl),
    async authorize(signature, options = {}) {
      const signal = signalOf("authorize", options);
      checkHeaderValue(signature, "The signature");
      const { status } = await callService(service, {
        path: "/v1/webhooks/authorize",
        auth: "query",
        headers: { "X-svc-authorization": signature },
        signal,
        secrets: { signature },
        verdicts,
      });
      return verdicts.get(status) as Verdict;
    },

    async testWebhook(webhookUrl) {
      return await callService(service, {
        path: "/v3/batch/webhooks/test",
        auth: "header",
        // Not left out, as that of a report may be.
        body: reportBody({ webhook_url: webhookUrl ?? "" }),
        secrets: tokenIn(webhookUrl),
      });
    },

    async requestReport(report, options = {}) {
      return await callService(service, {
        path: "/batch/v4/request-report",
        auth: reportAuth,
        signal: signalOf("requestReport", options),
        body: reportBody(report),
        secrets: tokenIn(report.webhook_url),
      });
    },
  };
}

function signalOf(whose: string, options: AuthorizeOptions): AbortSignal | undefined {
  assertKnownKeys(whose, options, ["signal", "delivery", "context"]);
  assertSignal(`${whose}: signal`, options.signal);
  return options.signal;
}

/** The token of a callback URL. */
function tokenIn(url: string | undefined): Secrets {
  const token = url === undefined ? null : split(url).token;
  return token === null || token === "" ? {} : { "callback token": token };
}

function keySource(apiKey: unknown, used: (key: string) => void): () => string | Promise<string> {
  if (typeof apiKey !== "function") {
    const key = checkApiKey(apiKey);
    used(key);
    return () => key;
  }
  return async () => {
    let key: unknown;
    try {
      key = await apiKey();
    } catch (thrown) {
      throw new Error(`The function given as apiKey threw ${errorName(thrown)}; nothing was sent`);
    }
    const checked = checkApiKey(key);
    used(checked);
    return checked;
  };
}

/** The name of a thrown value, if it looks like the name of an error: it may hold anything, even the key. */
function errorName(thrown: unknown): string {
  const name = safeText(thrown, "name") ?? "";
  return /^[A-Za-z]{0,40}(?:Error|Exception)$/.test(name) ? name : "something";
}
