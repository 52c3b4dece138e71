import type { ProblemCode } from "../http/answer.ts";
import { type Incoming, look, plainHeaders } from "../http/incoming.ts";
import type { Clock } from "../lib/clock.ts";
import { type Logger, oncePerMinuteEach } from "../lib/log.ts";

/** Why the sender does not get the answer of a stored notification: a refusal, or that something else had answered. */
type Code = ProblemCode | "answered";

/**
 * The warning of each refusal that a genuine notification may meet without any other sign, and of an answer that did not reach
 * the sender.
 */
export const refusalWarnings: Readonly<Partial<Record<Code, string>>> = {
  body_too_large:
    "Notification refused: its body is over the limit, answered 413. Raise limits.bodyBytes. Unsigned bodies may have 4 KiB: if one of these headers carries the signature, name it in the option signature.",
  body_timeout:
    "Notification refused: its body did not arrive in time, answered 408. If senders are slow, raise limits.bodyMs; else check the proxies and parsers ahead of the receiver.",
  unsupported_media_type:
    "Notification refused: it has no signature and is not sent as JSON, answered 415. If one of these headers carries the signature, name it in the option signature.",
  invalid_json:
    "Notification refused: it has no signature and is no JSON object, answered 400. If one of these headers carries the signature, name it in the option signature.",
  closing:
    "Notification refused while closing: answered 503. A durable inbox stores notifications until the last handler is done.",
  answered:
    "Answer lost: something else had answered the request. Await the promise of the adapter, and do not call next() ahead of it.",
};

/** Writes the warning of a code, if there is one. */
export type WarnOfRefusal = (code: Code, incoming: Incoming) => void;

/** Makes the warnings: each once a minute, with the number and the names of the headers that came. */
export function warnOfRefusals({
  clock,
  logger,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
}): WarnOfRefusal {
  const refused = oncePerMinuteEach(clock, logger.warn, "code");
  return (code, incoming) => {
    const message = refusalWarnings[code];
    if (message === undefined) return;
    refused({ code, headers: look(() => Object.keys(plainHeaders(incoming.headers))) }, message);
  };
}
