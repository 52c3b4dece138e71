import { type Callbacks, type Called, split, withoutToken } from "../callback-urls/callback-url.ts";
import type { ReceiveResult, Refusal } from "../http/answer.ts";
import type { Incoming } from "../http/incoming.ts";
import { dedupeKey } from "../inbox/dedupe-key.ts";
import type { Arrival, NewDelivery, Outcome } from "../inbox/delivery.ts";
import { idOf, timeOf } from "../inbox/id.ts";
import { jobAt } from "../inbox/stored-delivery.ts";
import { isPromise } from "../lib/is-promise.ts";
import type { Deadline } from "../lib/time/deadline.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { Runner } from "../run/runner.ts";
import { Admission } from "./admission.ts";
import { arrivalAfter, type InsideRequest, refusalAfter } from "./inside-request.ts";
import { CommonParts, type ReceivedNotification, readRequest } from "./read-request.ts";
import { Unsigned } from "./unsigned.ts";
import { Tokenless } from "./without-token.ts";

/** A notification that was read, as the delivery that it becomes if it is admitted. */
interface Read {
  readonly delivery: NewDelivery;
  readonly claims: ReceivedNotification["claims"];
  readonly lacksToken: boolean;
}

/** The order of a request up to its answer; each step stands in a file of its name. */
export class Pipeline {
  readonly #settings: ReceiverSettings;
  readonly #callbacks: Callbacks | null;
  readonly #inside: InsideRequest;
  readonly #runner: Runner;
  readonly #reporter: Reporter;
  readonly #common = new CommonParts();
  readonly #admission: Admission;
  readonly #unsigned: Unsigned;
  readonly #tokenless: Tokenless;
  /** Whether to warn, once, that nothing handles what is stored before `start()` is called. */
  #warnsOfNoStart: boolean;

  constructor(
    settings: ReceiverSettings,
    callbacks: Callbacks | null,
    inside: InsideRequest,
    runner: Runner,
    reporter: Reporter,
  ) {
    this.#settings = settings;
    this.#callbacks = callbacks;
    this.#inside = inside;
    this.#runner = runner;
    this.#reporter = reporter;
    this.#admission = new Admission(settings, runner, reporter);
    this.#unsigned = new Unsigned(settings, reporter);
    this.#tokenless = new Tokenless(settings);
    this.#warnsOfNoStart = !settings.autostart;
  }

  /** Takes a request; `id` is the one of its delivery. */
  async run(incoming: Incoming, id: string, deadline: Deadline): Promise<ReceiveResult> {
    this.#runner.ensureStarted();
    if (incoming.method !== "POST") return { refused: "method_not_allowed" };
    const callbacks = this.#callbacks;
    const called =
      callbacks === null ? undefined : await inTime(deadline, callbacks.verify(incoming.url));
    const read = await this.#read(incoming, called, id, deadline);
    const result = "refused" in read ? read : await this.#admit(read, incoming, deadline);
    const isRefused = "refused" in result && called?.token === "valid";
    return isRefused ? { ...result, isOurs: true } : result;
  }

  /** Reads a request, if it is to be read. */
  async #read(
    incoming: Incoming,
    called: Called | undefined,
    id: string,
    deadline: Deadline,
  ): Promise<Read | Refusal> {
    const { ack, clock, name } = this.#settings;
    const { url: calledUrl } = incoming;
    // Before its body takes memory.
    const turnedAway = this.#admission.refusal();
    if (turnedAway !== null) return turnedAway;
    const lacksToken = called?.context === withoutToken;
    if (lacksToken && !this.#tokenless.mayBegin(incoming, called)) return { refused: "not_found" };

    // A token is never stored, even without the option.
    const { url, context = null, requestId = null } = called ?? { url: split(calledUrl).rest };
    const notification = await readRequest(incoming, url, this.#settings, this.#common, deadline);
    if (typeof notification === "string") return { refused: notification };
    const { body, claims, headers, signature } = notification;
    if (lacksToken && signature === null) return { refused: "not_found" };
    const hashing =
      signature === null ? null : dedupeKey({ receiver: name, signature, url: calledUrl, body });
    const key = isPromise(hashing) ? await inTime(deadline, hashing) : hashing;
    // Before it becomes a delivery, for lived time is that of the inbox.
    const unprepared = this.#runner.mayStore ? null : await this.#admission.prepare(deadline);
    if (unprepared !== null) return unprepared;
    const delivery: NewDelivery = {
      // One that is not stored gets its id from its content: a retry of the sender has the same id.
      id: ack === "handled" && key !== null ? idOf(key) : id,
      receiver: name,
      receivedAt: timeOf(id),
      arrivedAt: clock.now(),
      key,
      signature,
      url: notification.url,
      context,
      requestId,
      headers,
      body,
    };
    return { delivery, claims, lacksToken };
  }

  /** Admits what was read, and stores it. From here to storing nothing may interrupt an unsigned one: the next is counted against the stored ones. */
  #admit(
    read: Read,
    incoming: Incoming,
    deadline: Deadline,
  ): Promise<ReceiveResult> | ReceiveResult {
    const { ack, verify } = this.#settings;
    const { claims, delivery } = read;
    const admitted = claims === null ? toBeVerified : this.#unsigned.admit(claims, incoming);
    if (admitted === null) return { refused: "missing_signature" };
    if (ack === "handled") {
      return this.#admission.refusal() ?? this.#inside.handle(delivery, admitted, deadline);
    }
    const isAskedFirst = admitted.to === "received" && verify === "before-ack";
    if (!isAskedFirst) return this.#store(read, admitted, null, deadline);
    return this.#inside
      .verify(delivery, deadline)
      .then((outcome) => this.#store(read, admitted, outcome, deadline));
  }

  /** Stores a delivery; `outcome` is the one of the verify stage, if that was asked first. */
  async #store(
    { delivery, lacksToken }: Read,
    admitted: Arrival,
    outcome: Outcome | null,
    deadline: Deadline,
  ): Promise<ReceiveResult> {
    const refused = outcome === null ? null : refusalAfter(outcome);
    if (outcome !== null && refused !== null) {
      this.#reporter.tell("settled", jobAt(delivery), outcome);
      return { refused };
    }
    // Others may have come while it was read.
    const turnedAway = this.#admission.refusal();
    if (turnedAway !== null) return turnedAway;
    if (lacksToken && !this.#tokenless.mayStay()) return { refused: "not_found" };
    const arrival = outcome === null ? admitted : arrivalAfter(outcome);
    const stored = await this.#admission.store(delivery, arrival, deadline);
    if ("refused" in stored) return stored;
    if (stored.status === "duplicate") return { status: "duplicate", id: stored.id };
    const { id } = delivery;
    const { sameSignatureAs } = stored;
    if (sameSignatureAs !== undefined) {
      this.#settings.oncePerMinute.warn({ id, sameSignatureAs }, messages.reusedSignature);
    }
    this.#reporter.stored(delivery, arrival, outcome);
    if (this.#warnsOfNoStart && this.#runner.phase === "new") {
      this.#warnsOfNoStart = false;
      this.#settings.logger.warn({ id }, messages.notStarted);
    }
    return { status: "accepted", id };
  }
}

const toBeVerified: Arrival = { to: "received" };

/** A result of the runtime's cryptography, which may wait for threads that handlers keep busy. */
async function inTime<T>(deadline: Deadline, step: Promise<T>): Promise<T> {
  const result = await deadline.race(step);
  if (result !== "late") return result;
  throw new Error(
    `The runtime's cryptography gave no answer within ${deadline.ms} ms: its threads are busy, maybe with file system calls of handlers`,
  );
}
