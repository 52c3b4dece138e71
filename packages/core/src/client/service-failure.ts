import { ServiceError, type ServiceErrorCode, type ServiceErrorDetails } from "../errors.ts";
import { safeText, tryGet } from "../lib/safe-get.ts";
import type { Redactor } from "../lib/text/redact.ts";
import { chainOf, shownError } from "../lib/thrown.ts";
import { isHtmlPage } from "./html-page.ts";
import { noAnswer, proxyPassword } from "./no-answer.ts";
import { BodyLost, type BodyText } from "./read-response.ts";
import type { ServiceResponse } from "./service-response.ts";

/** The progress of one exchange with the service. */
export interface CallProgress extends BodyText {
  /** The method and the address, without secrets; empty before the key is known. */
  asked: string;
  /** False until the fetch is called. */
  sent: boolean;
  response?: ServiceResponse;
  /** An expected status. */
  taken?: number;
  /** The error that ended it early. */
  broken?: { readonly by: unknown };
}

const maxErrorText = 2_048;

/**
 * Whether the answer says nothing about the operation: it is a page for people, or may be one, for the fetch given kept no body.
 * Refusals may be pages: many frameworks answer so.
 */
export function saysNothing({ response, broken, ...body }: CallProgress): boolean {
  if (response === undefined || response.status >= 300) return false;
  return broken?.by instanceof BodyLost || isHtmlPage(response, body);
}

/** Parses JSON, else keeps the text; without secrets. */
export function parse(text: string, redactor: Redactor): unknown {
  // It may be nested too deep for the stack, and is an answer all the same.
  const json = tryGet(() => redactor.value(JSON.parse(text)));
  return json === undefined ? redactor.text(text) : json;
}

/** The error of an exchange that took longer than `timeoutMs`. */
export function late(progress: CallProgress, timeoutMs: number): ServiceError {
  const { asked, response, sent, taken } = progress;
  const answered = response ? `answered ${response.status}, but did not end` : "was not answered";
  const happened = sent ? `${asked} ${answered}` : noKey;
  return new ServiceError("service_timeout", `${happened} within ${timeoutMs} ms (timeoutMs)`, {
    ...statusOf(progress),
    sent,
    retryable: !taken,
  });
}

/** The error of an exchange that ended without success: the first reason that applies. `byGlobal`: the global `fetch` made it. */
export function serviceFailure(
  progress: CallProgress,
  endpoint: string,
  redactor: Redactor,
  byGlobal: boolean,
): ServiceError {
  const { asked, response, text, broken } = progress;
  const cause = broken && shownError(broken.by, (shown) => redactor.text(shown));
  const [found] = chainOf(cause).flatMap((link) => safeText(link, "code") ?? []);
  const broke = found === undefined ? "" : ` (${found})`;
  const { code, problem, ...about } = response
    ? answered(response, progress, broke)
    : unanswered(progress, endpoint, byGlobal, broke);
  const retryAfterMs = parseRetryAfter(response?.header("retry-after"));
  return new ServiceError(code, `${asked} ${problem}`, {
    ...statusOf(progress),
    ...(text && { body: parse(redactor.text(text, maxErrorText), redactor) }),
    ...about,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(code === "service_unreachable" && cause && { cause }),
  });
}

/** The part of an error that depends on its reason. */
interface Failure extends Pick<ServiceErrorDetails, "sent" | "retryable"> {
  readonly code: ServiceErrorCode;
  readonly problem: string;
}

function unanswered(
  { sent, broken }: CallProgress,
  endpoint: string,
  byGlobal: boolean,
  broke: string,
): Failure {
  const unreachable = "service_unreachable" as const;
  if (!sent) return { code: unreachable, problem: noFetch, sent: false, retryable: false };
  if (!broken) return { code: unreachable, problem: noResponse, sent: true, retryable: false };
  const { why, ...about } = noAnswer(broken.by, endpoint, byGlobal);
  return { code: unreachable, problem: `got no answer${broke}: ${why}`, ...about };
}

function answered(response: ServiceResponse, progress: CallProgress, broke: string): Failure {
  const { status } = response;
  const failed = "service_failed" as const;
  const said = `answered ${status}`;
  if (response.isRedirect) return { code: failed, problem: redirect, sent: true, retryable: false };
  if (status === 401 || status === 403) {
    const problem = `${said}: the API key is not accepted, check apiKey`;
    return { code: "service_refused", problem, sent: true, retryable: false };
  }
  if (status === 407) {
    return { code: failed, problem: `${said}: ${proxyPassword}`, sent: false, retryable: false };
  }
  const retryable = [408, 425, 429].includes(status) || status >= 500;
  const by = progress.broken?.by;
  const isLost = by instanceof BodyLost;
  if (!isLost && saysNothing(progress))
    return { code: failed, problem: `${said} ${withPage}`, sent: true, retryable };
  if (!progress.taken) {
    const problem = `${said}, which is no documented outcome${status === 404 ? ": check baseUrl" : ""}`;
    return { code: failed, problem, sent: true, retryable };
  }
  // The service took the call: repeating it may do it twice.
  const how = isLost ? `but its body is lost (${by.message})` : `then broke off${broke}`;
  const problem = `${said}, ${how}: it is done, or will be`;
  return { code: "service_unreachable", problem, sent: true, retryable: false };
}

const noKey = "The function given as apiKey returned no key, and nothing was sent,";
const noFetch = "was not sent, for there is no global fetch: give createClient the option fetch";
const noResponse =
  "got no response from the fetch given, but something without a status: give one that resolves to a Response, such as ofetch.raw for ofetch. It is done, or will be";
const redirect =
  "was answered with a redirect, which is not followed: set baseUrl to where it leads";
const withPage =
  "with an HTML page, which is not the service: check baseUrl, and what is in between (a proxy, a login)";

function statusOf({ response }: CallProgress): Pick<ServiceErrorDetails, "serviceStatus"> {
  return response?.status ? { serviceStatus: response.status } : {};
}

function parseRetryAfter(header: string | undefined): number | undefined {
  const text = header?.trim() ?? "";
  const ms = /^[+-]?\d+$/.test(text)
    ? Number(text) * 1_000
    : // Only with a weekday: Date.parse makes dates of much that is none.
      /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)
      ? Date.parse(text.endsWith(" GMT") ? text : `${text} GMT`) - Date.now()
      : Number.NaN;
  return Number.isSafeInteger(ms) ? Math.max(ms, 0) : undefined;
}
