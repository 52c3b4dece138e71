import {
  type Callbacks,
  type Called,
  uncalled,
  withoutToken,
} from "../callback-urls/callback-url.ts";
import { ReporthookError } from "../errors.ts";
import type { ReceiveResult, Refusal } from "../http/answer.ts";
import type { Incoming } from "../http/incoming.ts";
import { dedupeKey } from "../inbox/dedupe-key.ts";
import type { Arrival, NewDelivery } from "../inbox/delivery.ts";
import { idOf, timeOf } from "../inbox/id.ts";
import type { AddResult } from "../inbox/inbox.ts";
import { jobAt } from "../inbox/stored-delivery.ts";
import { isPromise } from "../lib/is-promise.ts";
import { describe } from "../lib/text/describe.ts";
import type { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Runner } from "../run/runner.ts";
import { Admission } from "./admission.ts";
import { arrivalAfter, type InsideRequest, refusalAfter } from "./inside-request.ts";
import {
  beginBody,
  bodyRefusals,
  CommonParts,
  namedSignature,
  readNotification,
} from "./read-request.ts";

/** The order of a request up to its answer: refuses at once, reads, admits, asks first if told so, and stores in time. */
export class Pipeline {
  readonly #settings: ReceiverSettings;
  readonly #inside: InsideRequest;
  readonly #runner: Runner;
  readonly #reporter: Reporter;
  readonly #common = new CommonParts();
  readonly #admission: Admission;
  /** Whether to warn, once, that nothing handles what is stored before `start()` is called. */
  #warnsOfNoStart: boolean;

  constructor(
    settings: ReceiverSettings,
    inside: InsideRequest,
    runner: Runner,
    reporter: Reporter,
  ) {
    this.#settings = settings;
    this.#inside = inside;
    this.#runner = runner;
    this.#reporter = reporter;
    this.#admission = new Admission(settings, runner, reporter);
    this.#warnsOfNoStart = !settings.autostart;
  }

  /** Takes a request; `id` is the one of its delivery. */
  readonly run = (incoming: Incoming, id: string, deadline: Deadline): Promise<ReceiveResult> => {
    this.#runner.ensureStarted();
    if (incoming.method !== "POST") return Promise.resolve({ refused: "method_not_allowed" });
    const { callbacks } = this.#settings;
    return callbacks === undefined
      ? this.#receive(incoming, uncalled(incoming.url), id, deadline)
      : this.#receiveCalled(incoming, callbacks, id, deadline);
  };

  async #receiveCalled(
    incoming: Incoming,
    callbacks: Callbacks,
    id: string,
    deadline: Deadline,
  ): Promise<ReceiveResult> {
    const called = await deadline.within(callbacks.verify(incoming.url), cryptography, busy);
    const result = await this.#receive(incoming, called, id, deadline);
    const isRefused = "refused" in result && called.token === "valid";
    return isRefused ? { ...result, isOurs: true } : result;
  }

  /** Reads a request, if it is to be read, and admits it. */
  async #receive(
    incoming: Incoming,
    called: Called,
    id: string,
    deadline: Deadline,
  ): Promise<ReceiveResult> {
    const settings = this.#settings;
    const { ack, name } = settings;
    const { context, requestId, url } = called;
    // Before its body takes memory.
    const turnedAway = this.#admission.refusal();
    if (turnedAway !== null) return turnedAway;
    const named = namedSignature(incoming.headers, settings.signature);
    if (!this.#admission.isRead(called, named !== null)) return { refused: "not_found" };
    const reading = beginBody(incoming, named, settings.limits);
    const { result } = reading;
    const body = isPromise(result) ? await deadline.race(result, settings.limits.bodyMs) : result;
    if (typeof body === "string") {
      reading.stop();
      return { refused: bodyRefusals[body] };
    }
    const notification = readNotification(incoming, url, body, named, settings, this.#common);
    if (typeof notification === "string") return { refused: notification };
    const { claims, headers, signature } = notification;
    if (context === withoutToken && signature === null) return { refused: "not_found" };
    const hashing =
      signature === null ? null : dedupeKey({ receiver: name, signature, url: incoming.url, body });
    const key = isPromise(hashing) ? await deadline.within(hashing, cryptography, busy) : hashing;
    // Before it becomes a delivery, for lived time is that of the inbox.
    const preparing = ack === "handled" ? null : this.#runner.prepare();
    try {
      if (preparing !== null) await deadline.within(preparing, theInbox);
    } catch (error) {
      return this.#notStored(null, error);
    }
    const delivery: NewDelivery = {
      // One that is not stored gets its id from its content: a retry of the sender has the same id.
      id: ack === "handled" && key !== null ? idOf(key) : id,
      receiver: name,
      receivedAt: timeOf(id),
      arrivedAt: settings.clock.now(),
      key,
      signature,
      url: notification.url,
      context,
      requestId,
      headers,
      body,
    };
    // From here to storing nothing may interrupt an unsigned one: the next is counted against the stored ones.
    const arrival = claims === null ? toBeVerified : this.#admission.unsigned(claims, incoming);
    if (arrival === null) return { refused: "missing_signature" };
    if (ack === "stored") return await this.#store(delivery, arrival, deadline);
    return this.#admission.refusal() ?? (await this.#inside.handle(delivery, arrival, deadline));
  }

  /** Stores a delivery; the service is asked first if the options say so. */
  async #store(
    delivery: NewDelivery,
    admitted: Arrival,
    deadline: Deadline,
  ): Promise<ReceiveResult> {
    const { logger, oncePerMinute, verify } = this.#settings;
    const isAskedFirst = admitted.to === "received" && verify === "before-ack";
    const outcome = isAskedFirst ? await this.#inside.verify(delivery, deadline) : null;
    const refused = outcome === null ? null : refusalAfter(outcome);
    if (outcome !== null && refused !== null) {
      this.#reporter.tell("settled", jobAt(delivery), outcome);
      return { refused };
    }
    // Others may have come while it was read.
    const turnedAway = this.#admission.refusal();
    if (turnedAway !== null) return turnedAway;
    if (!this.#admission.isKept(delivery)) return { refused: "not_found" };
    const arrival = outcome === null ? admitted : arrivalAfter(outcome);
    const { id } = delivery;
    let stored: AddResult;
    try {
      stored = await this.#add(delivery, arrival, deadline);
    } catch (error) {
      return this.#notStored(id, error);
    }
    if (stored.status === "duplicate") return { status: "duplicate", id: stored.id };
    const { sameSignatureAs } = stored;
    if (sameSignatureAs !== undefined) {
      oncePerMinute.warn({ id, sameSignatureAs }, messages.reusedSignature);
    }
    this.#reporter.stored(delivery, arrival, outcome);
    if (this.#warnsOfNoStart && this.#runner.phase === "new") {
      this.#warnsOfNoStart = false;
      logger.warn({ id }, messages.notStarted);
    }
    return { status: "accepted", id };
  }

  /** Stores a delivery before the deadline, or rejects; after a timeout it may still be stored. */
  #add(delivery: NewDelivery, arrival: Arrival, deadline: Deadline): Promise<AddResult> {
    return deadline.within(this.#settings.inbox.add(delivery, arrival), theInbox);
  }

  /** The refusal of a delivery that could not be stored. */
  #notStored(id: string | null, error: unknown): Refusal {
    const { oncePerMinute } = this.#settings;
    if (error instanceof ReporthookError && error.code === "overloaded") {
      oncePerMinute.warn({ error: describe(error) }, messages.inboxFull);
      return { refused: "overloaded" };
    }
    this.#reporter.tell("notStored", error);
    oncePerMinute.error({ id, error: describe(error) }, messages.notStored);
    return { refused: "inbox_unavailable" };
  }
}

const toBeVerified: Arrival = { to: "received" };
const theInbox = "The inbox";
const cryptography = "The runtime's cryptography";
const busy = ": its threads are busy, maybe with file system calls of handlers";
