import type { ProblemCode } from "../http/answer.ts";
import { type Incoming, plainHeaders } from "../http/incoming.ts";
import { tryGet } from "../lib/safe-get.ts";
import { messages } from "../log-messages.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";

/** Why the sender does not get the answer of a stored notification: a refusal, or that something else had answered. */
type Code = ProblemCode | "answered";

/**
 * The warning of each refusal that a genuine notification may meet without any other sign, and of an answer that did not reach
 * the sender.
 */
export const refusalWarnings: Readonly<Partial<Record<Code, string>>> =
  // A function, so that bundles of the client alone leave the messages out.
  /* @__PURE__ */ (() => ({
    body_too_large: messages.bodyTooLarge,
    body_timeout: messages.bodyTimeout,
    unsupported_media_type: messages.wrongContentType,
    invalid_json: messages.invalidJson,
    closing: messages.closing,
    answered: messages.answerLost,
  }))();

/** Writes the warning of a code, if there is one: once a minute, with the names of the headers that came. */
export function warnOfRefusal(
  { oncePerMinute }: ReceiverSettings,
  code: Code,
  incoming: Incoming,
): void {
  const message = refusalWarnings[code];
  if (code === "body_unavailable") oncePerMinute.error({}, messages.bodyUnavailable);
  if (message === undefined) return;
  const headers = tryGet(() => Object.keys(plainHeaders(incoming.headers)));
  oncePerMinute.warn({ code, headers }, message);
}
