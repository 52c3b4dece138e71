import type { AppServer } from "../http/app-server.ts";
import type { FaultOptions } from "../lib/faults.ts";
import { readUpTo } from "../lib/read-up-to.ts";
import { untraced } from "../lib/untraced.ts";
import type { Deliver, Delivery, OutgoingNotification } from "./delivery.ts";

/** The result of an attempt. */
export type Outcome = Pick<Delivery, "status" | "body" | "error">;

/** The target of notifications: an app, else `deliver`, else the network. */
export interface Target {
  readonly app?: AppServer | undefined;
  /** Default: the global `fetch`, looked up for each delivery. */
  readonly deliver?: Deliver | undefined;
}

const ANSWER_BYTES = 65_536;

/** Codes of errors that only a connection can have. */
const BROKEN_CONNECTION = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|HPE_.*)$/;

/**
 * Sends once. It always has an outcome and never rejects. `mishap` says, unless a fault asked for it, that nobody was reached, or
 * that the app has failed.
 */
export async function attempt(
  fault: FaultOptions,
  target: Target,
  parcel: OutgoingNotification,
  signal: AbortSignal,
): Promise<{ readonly outcome: Outcome; readonly mishap?: string }> {
  if (fault.drop) return { outcome: { status: null, error: "A fault dropped the delivery." } };
  if (fault.status !== undefined) return { outcome: answered(fault.status, "") };
  try {
    const { status, body } = await carry(target, parcel, signal);
    const { bytes } = await readUpTo(body, ANSWER_BYTES, signal);
    const text = new TextDecoder().decode(bytes);
    const outcome = answered(status, text);
    if (target.app === undefined || status !== 500) return { outcome };
    // Frameworks answer so when the app throws, and tell nobody else.
    return { outcome, mishap: `the app answered 500: ${summary(text)}` };
  } catch (error) {
    const { reason, code } = causeOf(error);
    const outcome = { status: null, error: `The receiver could not be reached: ${reason}` };
    if (signal.aborted || BROKEN_CONNECTION.test(code)) return { outcome };
    return { outcome, mishap: reason };
  }
}

async function carry(
  { app, deliver }: Target,
  { url, notification }: OutgoingNotification,
  signal: AbortSignal,
): Promise<Pick<Response, "status" | "body">> {
  if (app !== undefined) return app.post({ url, ...notification, signal });
  // Redirects are not followed: a 3xx is not 2xx.
  const request = new Request(url, { ...notification, redirect: "manual", signal });
  return deliver === undefined ? untraced(() => globalThis.fetch(request)) : deliver(request);
}

function answered(status: number, body: string): Outcome {
  if (status >= 200 && status <= 299) return { status, body };
  return { status, body, error: `The receiver answered ${status}, not 2xx.` };
}

/** The beginning of an answer, without the tags of a page. */
function summary(text: string): string {
  const page = text.replace(/<head>.*<\/head>|<[^>]*>|&nbsp;/gs, " ");
  return page.replace(/\s+/g, " ").trim().slice(0, 200);
}

/** The innermost cause: fetch itself only says that it failed. */
function causeOf(error: unknown): { readonly reason: string; readonly code: string } {
  // Not instanceof: under Jest the errors of fetch come from another realm.
  if (typeof error !== "object" || error === null) return { reason: String(error), code: "" };
  const { cause, message, code, name }: Partial<NodeJS.ErrnoException> = error;
  if (cause !== undefined) return causeOf(cause);
  return { reason: message || String(code ?? name), code: String(code) };
}
