import { type Callbacks, split, withoutToken } from "../callback-urls/callback-url.ts";
import type { ReceiveResult } from "../http/answer.ts";
import { type Incoming, plainHeaders } from "../http/incoming.ts";
import { jobAt } from "../inbox/stored-delivery.ts";
import { isPromise } from "../lib/is-promise.ts";
import { oncePerMinute } from "../lib/log.ts";
import type { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Runner } from "../run/runner.ts";
import { Admission } from "./admission.ts";
import { arrivalAfter, type InsideRequest, refusalAfter } from "./inside-request.ts";
import { keyOf, newDelivery } from "./new-delivery.ts";
import { Repeated, receive } from "./read-request.ts";
import { admitUnsigned } from "./unsigned.ts";
import { admitWithoutToken } from "./without-token.ts";

/** The steps of one request; `id` is the id of its delivery, if it becomes one. */
export type Pipeline = (
  incoming: Incoming,
  id: string,
  deadline: Deadline,
) => Promise<ReceiveResult>;

/** Makes the pipeline of a receiver: the order of a request up to its answer stands here, each step in a file of its name. */
export function createPipeline(
  settings: ReceiverSettings,
  callbacks: Callbacks | null,
  inside: InsideRequest,
  runner: Runner,
  reporter: Reporter,
): Pipeline {
  const { inbox, name, time } = settings;
  const repeated = new Repeated();
  const admission = new Admission(settings, runner);
  const unsigned = admitUnsigned(settings);
  const tokenless = admitWithoutToken(settings);
  const warnOfReuse = warningOfReuse(settings);
  const notStarted = warningOfNoStart(settings, runner);

  return async (incoming, id, deadline) => {
    runner.ensureStarted();
    if (incoming.method !== "POST") return { refused: "method_not_allowed" };
    const called =
      callbacks === null ? undefined : await inTime(deadline, callbacks.verify(incoming.url));
    const turnedAway = admission.refusal();
    if (turnedAway !== null) return turnedAway;
    const lacksToken = called?.context === withoutToken;
    if (lacksToken && !tokenless.mayBegin(incoming, called)) return { refused: "not_found" };

    // A token is never stored, even without the option.
    const { url, context = null, requestId = null } = called ?? { url: split(incoming.url).rest };
    const notification = await receive(incoming, url, settings, repeated, deadline);
    if (typeof notification === "string") return { refused: notification };
    if (lacksToken && notification.signature === null) return { refused: "not_found" };
    const hashing = keyOf(name, incoming.url, notification);
    const key = isPromise(hashing) ? await inTime(deadline, hashing) : hashing;
    const unjoined = time.isJoined ? null : await admission.join(time, deadline);
    if (unjoined !== null) return unjoined;
    const delivery = newDelivery(settings, notification, { id, key, context, requestId });

    // Admitting and storing an unsigned notification must not be interrupted: the next one is counted against the stored ones.
    const { claims } = notification;
    const admitted =
      claims === null
        ? ({ to: "received" } as const)
        : unsigned(claims, Object.keys(plainHeaders(incoming.headers)), inbox.backlog(name));
    if (admitted === null) return { refused: "missing_signature" };
    if (settings.ack === "handled") {
      return admission.refusal() ?? inside.handle(delivery, admitted, deadline);
    }

    const asksFirst = admitted.to === "received" && settings.verify === "before-ack";
    const outcome = asksFirst ? await inside.verify(delivery, deadline) : null;
    const refused = outcome === null ? null : refusalAfter(outcome);
    if (outcome !== null && refused !== null) {
      reporter.settled(jobAt(delivery), outcome);
      return { refused };
    }
    const arrival = outcome === null ? admitted : arrivalAfter(outcome);

    const turnedAwayMeanwhile = admission.refusal();
    if (turnedAwayMeanwhile !== null) return turnedAwayMeanwhile;
    if (lacksToken && !tokenless.mayStay()) return { refused: "not_found" };
    const stored = await admission.store(delivery, arrival, deadline);
    if ("refused" in stored) return stored;
    if (stored.status === "duplicate") return { status: "duplicate", id: stored.id };
    if (stored.sameSignatureAs !== undefined) warnOfReuse(id, stored.sameSignatureAs);
    if (arrival.to === "held") runner.work.waitUntil.settle(id);
    reporter.stored(delivery, arrival, outcome);
    notStarted(id);
    return { status: "accepted", id };
  };
}

/** Warns once of a stored delivery that nothing handles, because `start()` was not called. */
function warningOfNoStart(
  { autostart, logger }: ReceiverSettings,
  runner: Runner,
): (id: string) => void {
  let isSaid = autostart;
  return (id) => {
    if (isSaid || runner.phase !== "new") return;
    isSaid = true;
    logger.warn({ id }, messages.notStarted);
  };
}

/** A result of the runtime's cryptography, which may wait for threads that handlers keep busy. */
async function inTime<T>(deadline: Deadline, step: Promise<T>): Promise<T> {
  const result = await deadline.race(step);
  if (result !== "late") return result;
  throw new Error(
    `The runtime's cryptography gave no answer within ${deadline.ms} ms: its threads are busy, maybe with file system calls of handlers`,
  );
}

/** Warns, once a minute, of a delivery that has the signature of an earlier one and other bytes. */
function warningOfReuse({
  clock,
  logger,
}: ReceiverSettings): (id: string, earlier: string) => void {
  const reused = oncePerMinute(clock, logger.warn);
  return (id, sameSignatureAs) => reused({ id, sameSignatureAs }, messages.reusedSignature);
}
