import { Buffer } from "node:buffer";
import {
  codeOf,
  type Exchange,
  exchange,
  isDelivered,
  objectIn,
  parsedBody,
} from "../lib/exchange.ts";
import {
  type AppRequest,
  type History,
  type SentNotification,
  signatureHeader,
  type Tell,
} from "./history.ts";

/** How long an app may take to ask, in milliseconds. */
export const askMs = 5_000;

const verdicts: Readonly<Record<number, string>> = {
  200: "valid (200)",
  401: "API key refused (401)",
  406: "invalid (406)",
  424: "expired (424)",
};

/** Sends notifications to apps, and reports each answer and whether the app asks about it. */
export class AppSender {
  readonly #history: History;
  readonly #tell: Tell;

  constructor(history: History, tell: Tell) {
    this.#history = history;
    this.#tell = tell;
  }

  /** Sends a notification; never rejects. */
  async send(request: AppRequest): Promise<Exchange> {
    const name = nameIn(Buffer.from(request.body ?? "").toString());
    const sent: SentNotification = { name, id: null, step: "sent", request };
    this.#history.add(sent);
    const answer = await exchange(request.url, request);
    const { status, ms: durationMs } = answer;
    const body = parsedBody(answer);
    const id = matching(/^[0-9a-z]{26}$/, body["id"]);
    const says = matching(/^\w{1,40}$/, codeOf(answer) ?? body["status"]);
    const error = status === null ? answer.error : undefined;
    sent.answer = answer;
    sent.id = id ?? null;
    const { url } = request;
    this.#tell({ what: "sent", sent: { url, name, status, durationMs, error, id, says } });
    const late = (): void => {
      if (sent.verdict !== undefined) return;
      sent.step = "unasked";
      this.#tell({ what: "unasked", name, id: sent.id });
    };
    const isSigned = (request.headers[signatureHeader] ?? "") !== "";
    if (isSigned && isDelivered(answer)) setTimeout(late, askMs).unref();
    return answer;
  }

  /** The service has answered a question about a signature. */
  asked(signature: string, status: number, path: string): void {
    const sent = this.#history.ofSignature(signature);
    const about = sent && { name: sent.name, id: sent.id };
    const verdict = verdicts[status];
    const what = status === 401 ? "refused" : "asked";
    if (sent !== undefined && verdict !== undefined) Object.assign(sent, { verdict, step: what });
    if (what === "refused") this.#tell({ what, path, ...about });
    else if (about !== undefined && verdict !== undefined) this.#tell({ what, ...about, verdict });
  }
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
