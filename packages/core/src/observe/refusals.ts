import type { ProblemCode } from "../http/answer.ts";
import { type Incoming, look, plainHeaders } from "../http/incoming.ts";
import type { Clock } from "../lib/clock.ts";
import { type Logger, oncePerMinute } from "../lib/log.ts";

/** Warns of a refusal that a genuine notification may meet and nothing else tells of, and of an answer that reached nobody. */
export type WarnOfRefusal = (code: ProblemCode | "answered", incoming: Incoming) => void;

/** Makes the warnings of refusals: each once a minute, with the number and the names of the headers that came. */
export function warnOfRefusals({
  clock,
  logger,
}: {
  readonly clock: Clock;
  readonly logger: Logger;
}): WarnOfRefusal {
  const tooLarge = oncePerMinute(clock, logger.warn);
  const late = oncePerMinute(clock, logger.warn);
  const noJsonType = oncePerMinute(clock, logger.warn);
  const noJson = oncePerMinute(clock, logger.warn);
  const closing = oncePerMinute(clock, logger.warn);
  const answered = oncePerMinute(clock, logger.warn);

  return (code, incoming) => {
    const fields = () => ({
      code,
      headers: look(() => Object.keys(plainHeaders(incoming.headers))),
    });
    if (code === "body_too_large") {
      tooLarge(
        fields(),
        "A body over the limit is refused: answered 413. Raise limits.bodyBytes; without a signature 4 KiB is the limit: if one of these headers carries it, name it in the option signature.",
      );
    } else if (code === "body_timeout") {
      late(
        fields(),
        "A body did not arrive whole and in time: answered 408. If senders are slow, raise limits.bodyMs; else look at what is ahead of the receiver.",
      );
    } else if (code === "unsupported_media_type") {
      noJsonType(
        fields(),
        "What came without a signature is not sent as JSON: answered 415. If one of these headers carries the signature, name it in the option signature.",
      );
    } else if (code === "invalid_json") {
      noJson(
        fields(),
        "What came without a signature is no JSON object: answered 400. If one of these headers carries the signature, name it in the option signature.",
      );
    } else if (code === "closing") {
      closing(
        fields(),
        "A notification came while the receiver closes: answered 503. With an inbox that outlasts the process it is stored until the last handler is done.",
      );
    } else if (code === "answered") {
      answered(
        fields(),
        "Something else had answered the request: the sender did not get this receiver's answer. Wait for what the adapter returns, and call next() nowhere ahead of it.",
      );
    }
  };
}
