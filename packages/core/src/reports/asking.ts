import type { Callbacks } from "../callback-urls/callback-url.ts";
import type { RequestedReport, ServiceAnswer } from "../client/client.ts";
import { responseIn } from "../client/service-response.ts";
import { InvalidReportRequestError, ReporthookError } from "../errors.ts";
import { newId } from "../inbox/id.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import { describe } from "../lib/describe.ts";
import { safeGet } from "../lib/safe-get.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";
import type { Requested } from "../observe/instrumentation.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { KnownRequests } from "./known-requests.ts";
import type { RequestOptions } from "./reports-type.ts";
import { confirmed, contextIn } from "./request.ts";

/** The parts of a receiver that send a request. */
type Sending = Pick<ReceiverSettings, "client" | "clock"> & { readonly url: string };

/** Stores a request and sends it, unless another one with its key is known. Rejects as `ReportRequests.request` does. */
export async function askOnce(
  made: StoredRequest,
  { resend = false, signal }: Pick<RequestOptions, "resend" | "signal">,
  sending: Sending,
  callbacks: Callbacks,
  requests: KnownRequests,
): Promise<Requested> {
  const earlier = await requests.add(made);
  if (earlier !== null && !isSame(earlier, made)) throw reused(earlier.id);
  if (earlier !== null && !(resend && earlier.state === "unconfirmed")) {
    return { id: earlier.id, answer: earlier.answer };
  }
  const sent = earlier ?? made;
  const answer = await send(sent, earlier !== null, signal, sending, callbacks, requests);
  return { id: sent.id, answer };
}

/** Sends a stored request, and records the answer. */
async function send(
  request: StoredRequest,
  isSentBefore: boolean,
  signal: AbortSignal | undefined,
  { client, clock, url }: Sending,
  callbacks: Callbacks,
  requests: KnownRequests,
): Promise<ServiceAnswer> {
  const { id, report } = request;
  const webhookUrl = await callbacks.urlOfRequest(url, id);
  let answer: ServiceAnswer;
  try {
    const given = await client.requestReport?.(
      { ...report, webhook_url: webhookUrl },
      { ...(signal !== undefined && { signal }), context: contextIn(request) },
    );
    answer = withoutSecret(given, webhookUrl.slice(webhookUrl.lastIndexOf("=") + 1));
  } catch (error) {
    if (isSentBefore || !isRefusal(error)) throw unsure(error, id);
    const deleting = requests.change(id, (read) => (read.state === "unconfirmed" ? null : read));
    await deleting.catch(unrecorded(id));
    throw error;
  }
  const record = (read: StoredRequest): StoredRequest => ({
    ...confirmed(read, clock.wallNow()),
    answer,
  });
  const recording = requests.change(id, record, request);
  await recording.catch(unrecorded(id));
  return answer;
}

/** Makes a request, not sent yet. */
export function newRequest(
  known: Pick<StoredRequest, "receiver" | "idempotencyKey" | "context" | "traceparent">,
  report: RequestedReport,
  overdueMs: number,
  clock: Pick<ReceiverClock, "now" | "wallNow">,
): StoredRequest {
  const wallNow = clock.wallNow();
  const later = { confirmedAt: null, processingAt: null, settledAt: null, overdueAt: null };
  return {
    ...known,
    id: newId(wallNow),
    report,
    ...{ state: "unconfirmed", reportId: null, answer: null, claims: {} },
    dueAt: clock.now() + overdueMs,
    settledAt: null,
    isTold: false,
    version: 0,
    dates: { requestedAt: wallNow, dueAt: wallNow + overdueMs, ...later },
  };
}

function isSame(one: StoredRequest, other: StoredRequest): boolean {
  const contextOf = ({ context }: StoredRequest): unknown =>
    context === null ? null : JSON.parse(context);
  return (
    sorted(one.report) === sorted(other.report) &&
    sorted(contextOf(one)) === sorted(contextOf(other))
  );
}

/** The JSON text of a value, the same for equal ones. */
function sorted(value: unknown): string | undefined {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}

function reused(id: string): ReporthookError {
  const message = `The idempotencyKey is that of request ${id}, for another report or context: give each request a key of its own`;
  return new ReporthookError("idempotency_key_reused", message);
}

/** Whether the service certainly has nothing of it. */
function isRefusal(error: unknown): boolean {
  if (error instanceof InvalidReportRequestError || safeGet(error, "sent") === false) return true;
  const status = safeGet(error, "serviceStatus") ?? responseIn(error)?.status;
  const isTemporary = status === 408 || status === 429;
  return typeof status === "number" && status >= 400 && status < 500 && !isTemporary;
}

/** The error of a request that the service may have: the one that the client threw, unless it is another request's too. */
function unsure(error: unknown, requestId: string): Error {
  // The reason of a signal may end several requests.
  const isOwn = error instanceof Error && Object.isExtensible(error) && !("requestId" in error);
  return withId(isOwn ? error : copyOf(error, requestId), requestId);
}

/** Throws that the inbox has not recorded the answer. Its error stays as it is: it may be that of other calls too. */
function unrecorded(requestId: string): (error: unknown) => never {
  return (error) => {
    throw withId(copyOf(error, requestId), requestId);
  };
}

function copyOf(cause: unknown, requestId: string): Error {
  const message = `${describe(cause)}; the service may have request ${requestId}`;
  const code = cause instanceof ReporthookError ? cause.code : "service_failed";
  return new ReporthookError(code, message, { cause });
}

function withId(error: Error, requestId: string): Error {
  return Object.assign(error, { requestId, retryable: false });
}

/** The answer as JSON holds it, without the token, which the service may repeat. */
function withoutSecret(answer: Partial<ServiceAnswer> | undefined, token: string): ServiceAnswer {
  const { status = 200, body = null } = answer ?? {};
  return JSON.parse(JSON.stringify({ status, body }).replaceAll(token, "[callback token]"));
}
