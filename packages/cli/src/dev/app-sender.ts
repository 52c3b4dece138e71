import { Buffer } from "node:buffer";
import { adviceFor } from "../lib/advice.ts";
import {
  codeOf,
  type Exchange,
  exchange,
  isDelivered,
  objectIn,
  parsedBody,
} from "../lib/exchange.ts";
import { type AppRequest, type History, signatureHeader } from "./history.ts";

/** How long an app may take to ask, in milliseconds. */
export const askMs = 5_000;

/** Sends a notification to an app, and reports its answer, and when it does not ask about it; never rejects. */
export async function sendToApp(request: AppRequest, history: History): Promise<Exchange> {
  const name = nameIn(Buffer.from(request.body ?? "").toString());
  const sent = history.add({ name, id: null, step: "sent", request });
  const answer = await exchange(request.url, request);
  const { status, ms: durationMs } = answer;
  const body = parsedBody(answer);
  const id = matching(/^[0-9a-z]{26}$/, body["id"]);
  const says = matching(/^\w{1,40}$/, codeOf(answer) ?? body["status"]);
  const { url } = request;
  const todo = isDelivered(answer) ? undefined : adviceFor(url, answer).fix;
  const error = answer.error || todo;
  sent.answer = answer;
  sent.id = id ?? null;
  history.tell({ what: "sent", sent: { url, name, status, durationMs, error, id, says } }, sent);
  const late = (): void => {
    if (sent.verdict !== undefined) return;
    history.tell({ what: "unasked", name, id: sent.id }, sent);
  };
  const isSigned = (request.headers[signatureHeader] ?? "") !== "";
  if (isSigned && isDelivered(answer)) setTimeout(late, askMs).unref();
  return answer;
}

/** A part of a receiver's answer, if it looks as it should. */
function matching(pattern: RegExp, part: unknown): string | undefined {
  return typeof part === "string" && pattern.test(part) ? part : undefined;
}

/** The probable event name of a notification, for display only. */
function nameIn(body: string): string {
  const { event_type: type = "unknown", payload } = objectIn(body) ?? {};
  const { status } = (payload ?? {}) as { readonly status?: unknown };
  return typeof status === "string" ? `report.${status}` : String(type);
}
