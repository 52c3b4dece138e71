import { contextOf, split } from "../callback-urls/callback-url.ts";
import type { ServiceAnswer } from "../client/client.ts";
import { responseIn } from "../client/service-response.ts";
import { InvalidReportRequestError, ReporthookError } from "../errors.ts";
import { newId } from "../inbox/id.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import { safeGet, safeText } from "../lib/safe-get.ts";
import { describe } from "../lib/text/describe.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";
import type { Requested } from "../observe/instrumentation.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { KnownRequests } from "./known-requests.ts";
import type { RequestOptions } from "./reports-type.ts";
import { confirmed } from "./request.ts";

/** Makes a request, not sent yet. */
export function newRequest(
  asked: Pick<StoredRequest, "receiver" | "idempotencyKey" | "report" | "context" | "traceparent">,
  overdueMs: number,
  clock: Pick<ReceiverClock, "now" | "wallNow">,
): StoredRequest {
  const wallNow = clock.wallNow();
  return {
    ...asked,
    id: newId(wallNow),
    state: "unconfirmed",
    dueAt: clock.now() + overdueMs,
    settledAt: null,
    isTold: false,
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
}

/**
 * Stores a request, sends it with the callback URL of its id and records the answer, unless another one with its key is known.
 * Rejects as `ReportRequests.request` does.
 */
export async function askOnce(
  made: StoredRequest,
  { resend, signal }: Pick<RequestOptions, "resend" | "signal">,
  { client, clock }: ReceiverSettings,
  requests: KnownRequests,
  urlOf: (id: string) => Promise<string>,
): Promise<Requested> {
  const earlier = await requests.add(made);
  if (earlier !== null && contentOf(earlier) !== contentOf(made)) {
    const message = `The idempotencyKey is that of request ${earlier.id}, for another report or context: give each request a key of its own`;
    throw new ReporthookError("idempotency_key_reused", message);
  }
  if (earlier !== null && !(resend && earlier.state === "unconfirmed")) {
    return { id: earlier.id, answer: earlier.answer };
  }
  const request = earlier ?? made;
  const { id, report } = request;
  const webhookUrl = await urlOf(id);
  const unrecorded = (error: unknown): never => {
    throw unsure(error, id, true);
  };
  let answer: ServiceAnswer;
  const isSent = signal?.aborted !== true;
  try {
    assertNotAborted(signal);
    const given = await client.requestReport?.(
      { ...report, webhook_url: webhookUrl },
      { ...(signal !== undefined && { signal }), context: contextOf(request) },
    );
    answer = withoutToken(given, split(webhookUrl).token);
  } catch (error) {
    if (earlier !== null || (isSent && !isRefusal(error)))
      throw unsure(error, id, false, signal?.aborted);
    const deleted = (read: StoredRequest) => (read.state === "unconfirmed" ? null : read);
    await requests.change(request, deleted).catch(unrecorded);
    throw error;
  }
  const answered = (read: StoredRequest) => ({ ...confirmed(read, clock.wallNow()), answer });
  await requests.change(request, answered).catch(unrecorded);
  return { id, answer };
}

/** Throws the reason of an aborted signal, without the id of a request that it has ended before. */
export function assertNotAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  const { reason } = signal;
  if (safeGet(reason, "requestId") === undefined) throw reason;
  throw new DOMException(`${describe(reason)}; nothing was sent`, "AbortError");
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

/**
 * The error of a request that the service may have: the one that was thrown, unless that may be the error of other requests too,
 * as the reason of a signal or what the inbox throws may be.
 */
function unsure(thrown: unknown, requestId: string, isShared: boolean, isAborted = false): Error {
  const about = { requestId, retryable: false };
  const mayGet = thrown instanceof Error && Object.isExtensible(thrown) && !("requestId" in thrown);
  if (mayGet && !isShared) return Object.assign(thrown, about);
  const message = `${describe(thrown)}; the service may have request ${requestId}`;
  const code = thrown instanceof ReporthookError ? thrown.code : "service_failed";
  const error = isAborted
    ? new DOMException(message, safeText(thrown, "name") ?? "AbortError")
    : new ReporthookError(code, message, { cause: thrown });
  return Object.assign(error, about);
}

/** The answer as JSON holds it, without the token, which the service may repeat. */
function withoutToken(
  answer: Partial<ServiceAnswer> | undefined,
  token: string | null,
): ServiceAnswer {
  const { status = 200, body = null } = answer ?? {};
  const text = JSON.stringify({ status, body });
  return JSON.parse(token === null ? text : text.replaceAll(token, "[callback token]"));
}
