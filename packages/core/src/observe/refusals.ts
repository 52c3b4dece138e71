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
    "A body over the limit is refused: answered 413. Raise limits.bodyBytes; without a signature 4 KiB is the limit: if one of these headers carries it, name it in the option signature.",
  body_timeout:
    "A body did not arrive whole and in time: answered 408. If senders are slow, raise limits.bodyMs; else look at what is ahead of the receiver.",
  unsupported_media_type:
    "What came without a signature is not sent as JSON: answered 415. If one of these headers carries the signature, name it in the option signature.",
  invalid_json:
    "What came without a signature is no JSON object: answered 400. If one of these headers carries the signature, name it in the option signature.",
  closing:
    "A notification came while the receiver closes: answered 503. With an inbox that outlasts the process it is stored until the last handler is done.",
  answered:
    "Something else had answered the request: the sender did not get this receiver's answer. Wait for what the adapter returns, and call next() nowhere ahead of it.",
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
