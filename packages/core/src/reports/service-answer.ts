import type { ServiceAnswer } from "../client/client.ts";
import { responseIn } from "../client/service-response.ts";
import { InvalidReportRequestError, ReporthookError, ServiceError } from "../errors.ts";
import { safeGet, tryGet } from "../lib/safe-get.ts";
import { describe } from "../lib/text/describe.ts";
import { jsonText } from "../lib/validate.ts";

/** Whether the service certainly has nothing of it. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof InvalidReportRequestError || safeGet(error, "sent") === false) return true;
  const status = safeGet(error, "serviceStatus") ?? responseIn(error)?.status;
  const isTemporary = status === 408 || status === 429;
  return typeof status === "number" && status >= 400 && status < 500 && !isTemporary;
}

/** The error of a request that the service may have: the one that was thrown, unless that may be the error of other requests too. */
export function unsure(thrown: unknown, requestId: string, isShared = false): Error {
  const about = { requestId, retryable: false };
  const mayGet = thrown instanceof Error && Object.isExtensible(thrown) && !("requestId" in thrown);
  if (mayGet && !isShared) return Object.assign(thrown, about);
  const message = `${describe(thrown)}; the service may have request ${requestId}`;
  const code = thrown instanceof ReporthookError ? thrown.code : "service_failed";
  return Object.assign(new ReporthookError(code, message, { cause: thrown }), about);
}

/**
 * The answer that a client gives, as JSON holds it, without the token, which the service may repeat. One of the app may give the
 * body itself, whose status is no number, or a `Response`. Rejects with a ServiceError if it is no success.
 */
export async function answerIn(given: unknown, token: string | null): Promise<ServiceAnswer> {
  const named = [safeGet(given, "status"), safeGet(given, "statusCode")];
  const found = named.find((each) => typeof each === "number");
  const status = found ?? 200;
  let body = safeGet(given, "body");
  if (typeof safeGet(given, "text") === "function") {
    // Something else may have read it.
    const text = await (given as Response).text().catch(() => null);
    body = tryGet((): unknown => JSON.parse(text ?? "")) ?? text;
  } else if (body === undefined && found === undefined) body = given;
  if (!(status >= 200 && status < 300)) {
    const message = `requestReport of the client answered ${status}, which confirms no request`;
    throw new ServiceError("service_failed", message, { serviceStatus: status, retryable: false });
  }
  const answer = { status, body: body ?? null };
  const json = jsonText("What requestReport of the client answers", answer, true);
  return JSON.parse(token === null ? json : json.replaceAll(token, "[callback token]"));
}
