import type { Callbacks } from "../callback-urls/callback-url.ts";
import type { RequestedReport, ServiceAnswer } from "../client/client.ts";
import { responseIn } from "../client/service-response.ts";
import { InvalidReportRequestError, ReporthookError } from "../errors.ts";
import { describe } from "../lib/describe.ts";
import { safeGet } from "../lib/safe-get.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { KnownRequests } from "./known-requests.ts";
import { confirmed, contextIn, type KnownRequest } from "./request.ts";

/** Sends a stored request, and records the answer. Rejects as `ReportRequests.request` does. */
export async function sendRequest(
  request: KnownRequest,
  isSentBefore: boolean,
  signal: AbortSignal | undefined,
  { client, clock, url }: Pick<ReceiverSettings, "client" | "clock"> & { readonly url: string },
  callbacks: Callbacks,
  requests: KnownRequests,
): Promise<ServiceAnswer> {
  const { id, report } = request;
  const webhookUrl = await callbacks.urlOfRequest(url, id);
  try {
    const given = await client.requestReport?.(
      { ...report, webhook_url: webhookUrl },
      { ...(signal !== undefined && { signal }), context: contextIn(request) },
    );
    const answer = withoutSecret(given, webhookUrl.slice(webhookUrl.lastIndexOf("=") + 1));
    await requests.change(id, (read) => ({ ...confirmed(read, clock.wallNow()), answer }));
    return answer;
  } catch (error) {
    if (isSentBefore || !isRefusal(error)) throw unsure(error, id);
    await requests.change(id, (read) => (read.state === "unconfirmed" ? null : read));
    throw error;
  }
}

/** Makes a request, not sent yet. */
export function newRequest(
  known: Pick<KnownRequest, "id" | "receiver" | "idempotencyKey" | "context">,
  report: RequestedReport,
  overdueMs: number,
  { now, wallNow }: { readonly now: number; readonly wallNow: number },
): KnownRequest {
  const later = { confirmedAt: null, processingAt: null, settledAt: null, overdueAt: null };
  return {
    ...known,
    report,
    ...{ state: "unconfirmed", reportId: null, answer: null, claims: {} },
    dueAt: now + overdueMs,
    settledAt: null,
    isTold: false,
    version: 0,
    dates: { requestedAt: wallNow, dueAt: wallNow + overdueMs, ...later },
  };
}

/** Whether the service certainly has nothing of it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof InvalidReportRequestError || safeGet(error, "sent") === false) return true;
  const status = safeGet(error, "serviceStatus") ?? responseIn(error)?.status;
  const isTemporary = status === 408 || status === 429;
  return typeof status === "number" && status >= 400 && status < 500 && !isTemporary;
}

/** The error of a request that the service may have. */
function unsure(error: unknown, requestId: string): Error {
  const marks = { requestId, retryable: false };
  // One object may be the error of several requests, as the reason of a signal is.
  const isOwn = error instanceof Error && Object.isExtensible(error) && !("requestId" in error);
  if (isOwn) return Object.assign(error, marks);
  const message = `${describe(error)}; the service may have request ${requestId}`;
  return Object.assign(new ReporthookError("service_failed", message, { cause: error }), marks);
}

/** The answer as JSON holds it, without the token, which the service may repeat. */
function withoutSecret(answer: Partial<ServiceAnswer> | undefined, token: string): ServiceAnswer {
  const { status = 200, body = null } = answer ?? {};
  return JSON.parse(JSON.stringify({ status, body }).replaceAll(token, "[callback token]"));
}
