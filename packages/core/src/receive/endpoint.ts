import { answerTo, type ProblemCode, type ReceiveResult } from "../http/answer.ts";
import type { Connections } from "../http/connections.ts";
import { type Endpoint, type Incoming, plainHeaders } from "../http/incoming.ts";
import { newId } from "../inbox/id.ts";
import { tryGet } from "../lib/safe-get.ts";
import { shownFields } from "../lib/thrown.ts";
import { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Runner } from "../run/runner.ts";
import type { WaitUntil } from "../run/wait-until.ts";
import type { Pipeline } from "./pipeline.ts";
import { namedSignature } from "./read-request.ts";

/**
 * Makes the function that answers the requests to a receiver. Each goes through the pipeline within its deadline, and is always
 * answered: it never rejects.
 */
export function createEndpoint(
  settings: ReceiverSettings,
  pipeline: Pipeline,
  runner: Runner,
  reporter: Reporter,
  connections: Connections,
  waitUntil: WaitUntil,
): Endpoint {
  const { clock, limits, signature } = settings;
  // In the async context of createReceiver, never in a request's.
  const run = settings.bind(pipeline.run);
  return async (incoming, context) => {
    try {
      const deadline = new Deadline(clock, limits.ackMs);
      const id = newId(clock.wallNow());
      const deciding = reporter.receive(incoming, id, (given) => run(given, id, deadline));
      if (context?.waitUntil) waitUntil.keepAlive(context, id, deciding);
      const request = connections.begin(incoming, deciding);
      let decision: ReceiveResult;
      try {
        decision = await deciding;
      } catch (error) {
        decision = unexpected(error, settings);
      }
      deadline.end();
      if (connections.allAccepted !== null) await connections.allAccepted;
      const isLast = connections.end(request, "status" in decision);
      // A function of the option may look into the body, which may not have been read.
      const isSigned =
        "refused" in decision && namedSignature(incoming.headers, signature) !== null;
      reporter.tell("answered", decision, isSigned, deadline.elapsedMs, id);
      if ("refused" in decision) warnOfRefusal(settings, decision.refused, incoming);
      const isNew = "id" in decision && decision.id === id;
      const isWorkedOn = isNew && settings.ack === "stored" && runner.takesOn;
      if (!isWorkedOn) waitUntil.stop(id);
      // By something else in the app, ahead of this answer.
      const isAnswered = tryGet(() => incoming.answered?.()) === true;
      if (isAnswered) warnOfRefusal(settings, "answered", incoming);
      return answerTo(decision, incoming.multiplexed, isLast);
    } catch (error) {
      return answerTo(unexpected(error, settings), incoming.multiplexed, runner.isClosing);
    }
  };
}

function unexpected(
  error: unknown,
  { oncePerMinute, redact, signature }: ReceiverSettings,
): ReceiveResult {
  oncePerMinute.error(shownFields(error, redact), messages.requestFailed);
  // A function of the app may have failed on a stranger's request, and nobody knows whether it is signed.
  const isDoubtful = typeof signature === "function";
  return { refused: "inbox_unavailable", ...(isDoubtful && { isOurs: false }) };
}

/** Why the sender does not get the answer of a stored notification: a refusal, or that something else had answered. */
type Code = ProblemCode | "answered";

/**
 * The warning of each refusal that a genuine notification may meet without any other sign, and of an answer that did not reach
 * the sender.
 */
export const refusalWarnings: Readonly<Partial<Record<Code, keyof typeof messages>>> = {
  body_too_large: "bodyTooLarge",
  body_timeout: "bodyTimeout",
  unsupported_media_type: "wrongContentType",
  invalid_json: "invalidJson",
  closing: "closing",
  answered: "answerLost",
};

/** Writes the warning of a code, if there is one: once a minute, with the names of the headers that came. */
function warnOfRefusal({ oncePerMinute }: ReceiverSettings, code: Code, incoming: Incoming): void {
  const name = refusalWarnings[code];
  if (code === "body_unavailable") oncePerMinute.error({}, messages.bodyUnavailable);
  if (name === undefined) return;
  const message = messages[name];
  const headers = tryGet(() => Object.keys(plainHeaders(incoming.headers)));
  oncePerMinute.warn({ code, headers }, message);
}
