import { createCallbacks, split } from "./callback/callback-url.ts";
import { overHttpOf } from "./client/options.ts";
import { ReporthookError } from "./errors.ts";
import type { NoSchemas, Schemas } from "./events/events.ts";
import { acknowledge, type Decision, type ProblemCode } from "./http/answer.ts";
import { type FetchContext, incomingFromRequest, toResponse } from "./http/fetch.ts";
import { type Answer, type Incoming, plainHeaders } from "./http/incoming.ts";
import { fingerprint } from "./inbox/dedupe-key.ts";
import type { Arrival, Entry, NewDelivery, Outcome } from "./inbox/delivery.ts";
import { watchHealth } from "./inbox/health.ts";
import { idOf, newId } from "./inbox/id.ts";
import { receiverInbox } from "./inbox/receiver-inbox.ts";
import { takeName } from "./inbox/receiver-names.ts";
import { useOf } from "./inbox/shared-inbox.ts";
import { entryOf, jobAt, newKept } from "./inbox/stored-delivery.ts";
import { Deadline } from "./lib/deadline.ts";
import { describe } from "./lib/describe.ts";
import { Running } from "./lib/in-flight.ts";
import { isPromise } from "./lib/is-promise.ts";
import { oncePerMinute } from "./lib/log.ts";
import { shownFields } from "./lib/thrown.ts";
import { checkMs } from "./lib/validate.ts";
import { tell } from "./observe/hooks.ts";
import { logAnswer } from "./observe/log-lines.ts";
import { warnOfRefusals } from "./observe/refusals.ts";
import type { ReceiverOptions } from "./options/options.ts";
import { settingsOf } from "./options/settings.ts";
import type { AnyHandler, Registration } from "./process/handlers.ts";
import { isInsideHandler } from "./process/inside-handler.ts";
import { register } from "./process/register.ts";
import { createEngine } from "./process/runner.ts";
import { createWorker } from "./process/stages.ts";
import { arrivalAfter, createInline } from "./receive/inline.ts";
import { receive } from "./receive/read.ts";
import { accept } from "./receive/store.ts";
import { admitUnsigned } from "./receive/unsigned.ts";
import type { Receiver } from "./receiver-type.ts";

// Whoever looks sees nothing that is no longer kept, give or take this.
const lookMs = 1_000;

/**
 * Makes a receiver: it answers notifications once they are stored, then has them verified and handled.
 *
 * @throws TypeError that names a wrong option
 * @example
 * const receiver = createReceiver({ client });
 * receiver.on("report.complete", async (event) => console.log(event.reportId));
 */
export function createReceiver<Context = unknown, const S extends Schemas = NoSchemas>(
  options: ReceiverOptions<Context, S>,
): Receiver<Context, S> {
  const settings = settingsOf(options as ReceiverOptions);
  const { bind, clean, clock, inbox, limits, logger, name } = settings;
  const self = { inbox, answer, close: () => receiver.close() };
  const takenName = takeName(self, name, options.name !== undefined, logger);
  const use = useOf(inbox);
  use.begin();
  if (settings.ack === "stored" && options.inbox === undefined) {
    logger.warn({}, "No inbox is given: a crash loses what was acknowledged.");
  }
  const baseUrl = overHttpOf(settings.client);
  if (baseUrl !== undefined) {
    logger.warn(
      { baseUrl },
      "baseUrl is no https: who is on the way can read the API key and forge verdicts. Use https.",
    );
  }
  const callbacks = settings.callback ? createCallbacks(settings.callback, settings) : null;
  const registrations: Registration[] = [];
  const watched = watchHealth(settings);
  const state = {
    get closing() {
      return engine.closing;
    },
    get closed() {
      return drained;
    },
  };
  const health = () => watched(worker.service, state);
  const around = settings.seam?.({ name, health, clean });
  const worker = createWorker({ ...settings, registrations, around });
  const engine = createEngine(settings, worker, around);
  const unsigned = admitUnsigned(settings);
  const overloaded = oncePerMinute(clock, logger.warn);
  const failed = oncePerMinute(clock, logger.error);
  const warnOfRefusal = warnOfRefusals(settings);
  const reading = { ...settings, ...limits };
  const inline = createInline(settings, worker, engine);
  const requests = new Running<Promise<Decision>>();
  let closed: Promise<void> | undefined;
  let drained = false;
  let saidUnstarted = false;

  // The way of a notification, in order.
  async function decide(incoming: Incoming, id: string, deadline: Deadline): Promise<Decision> {
    engine.autostart();
    if (incoming.method !== "POST") return { refused: "method_not_allowed" };
    const called = callbacks === null ? undefined : await callbacks.look(incoming.url);
    if (called === null) return { refused: "not_found" };
    const turnedAway = refusal();
    if (turnedAway !== null) return turnedAway;

    // A token is never stored, not even where the option is left out.
    const { url, context = null } = called ?? { url: split(incoming.url).rest };
    const notification = await receive(incoming, url, reading, deadline);
    if (typeof notification === "string") return unread(notification);
    const { claims, signature, headers, body } = notification;
    const hashed =
      signature === null
        ? null
        : fingerprint({ receiver: name, signature, url: incoming.url, body });
    const key = isPromise(hashed) ? await hashed : hashed;
    // What is not stored is known by what it is: the sender's next try is to be the same to handlers.
    const lasting = settings.ack === "handled" && key !== null;
    // Written out: made of spreads, an object costs more than hashing the body.
    const delivery = (ackMs: number): NewDelivery => ({
      id: lasting ? idOf(key) : id,
      receiver: name,
      receivedAt: deadline.startedAt,
      key,
      signature,
      url: notification.url,
      context,
      headers,
      body,
      ackMs,
    });
    // Nothing may come between letting an unsigned one in and storing it: others are counted by what is stored.
    const admitted: Arrival | null =
      claims === null
        ? { to: "received" }
        : unsigned(claims, Object.keys(plainHeaders(incoming.headers)), inbox.load(name));
    if (admitted === null) return { refused: "missing_signature" };
    if (settings.ack === "handled") return inline.handle(delivery(0), admitted, deadline);

    const asked = admitted.to === "received" && settings.verify === "before-ack";
    const outcome = asked ? await inline.verify(delivery(0), deadline) : null;
    const arrival = outcome === null ? admitted : arrivalAfter(outcome);
    if ("refused" in arrival) {
      if (outcome !== null) engine.report(jobAt(delivery(0)), outcome);
      return arrival;
    }

    const turnedAwayMeanwhile = refusal();
    if (turnedAwayMeanwhile !== null) return turnedAwayMeanwhile;
    const stored = delivery(deadline.elapsedMs);
    const accepted = await accept(inbox, stored, arrival, deadline);
    if (accepted.status === "failed") return unstored(id, accepted.error);
    if (accepted.status === "duplicate") return { status: "duplicate", id: accepted.id };
    const { sameSignatureAs } = accepted;
    if (sameSignatureAs !== undefined) {
      const ids = { id, sameSignatureAs };
      logger.warn(ids, "A signature came again with other bytes, or at another address.");
    }
    tellStored(stored, arrival, outcome);
    if (!settings.autostart && !engine.started && !saidUnstarted) {
      saidUnstarted = true;
      logger.warn({ id }, "Stored, and not handled here before start(): autostart is off.");
    }
    return { status: "accepted", id };
  }

  function refusal(): Decision | null {
    const keepsStoring = settings.ack === "stored" && inbox.guarantees.durability !== "process";
    if (engine.closing && (drained || !keepsStoring)) return { refused: "closing" };
    if (settings.ack === "handled") return null;
    const { waiting, unverified } = inbox.load(name);
    if (waiting < limits.waiting && unverified < limits.unverified) return null;
    overloaded({ waiting, unverified }, "Too many notifications wait: answered 503.");
    return { refused: "overloaded" };
  }

  function unread(code: ProblemCode): Decision {
    if (code === "body_unavailable") {
      failed(
        {},
        "Something ahead of the receiver consumed the body and left nothing: mount the receiver before it, or let it keep rawBody.",
      );
    }
    return { refused: code };
  }

  function unstored(id: string, error: unknown): Decision {
    if (error instanceof ReporthookError && error.code === "overloaded") {
      overloaded({ error: describe(error) }, "The inbox is full: answered 503.");
      return { refused: "overloaded" };
    }
    const fields = { id, error: describe(error) };
    logger.error(fields, "A notification could not be stored: answered 503.");
    return { refused: "inbox_unavailable" };
  }

  function tellStored(delivery: NewDelivery, arrival: Arrival, outcome: Outcome | null): void {
    const { id } = delivery;
    const { acknowledged, parked } = settings.observe;
    const held = arrival.to === "held";
    if (held) engine.forget(id);
    const show = (hook: ((entry: Entry) => void) | undefined): void => {
      if (hook) tell(hook, entryOf(newKept(delivery, arrival, null)), engine.onError);
    };
    show(acknowledged);
    if (outcome !== null) engine.report(jobAt(delivery), outcome);
    if (held && outcome?.to !== "held") {
      const fields = { id, reason: arrival.reason.code };
      logger.info?.(fields, "A delivery is held on arrival.");
      around?.settled(jobAt(delivery), { ...arrival, error: null });
      show(parked);
    }
  }

  function unexpected(error: unknown): Decision {
    failed(shownFields(error, clean), "A request failed unexpectedly: answered 503.");
    return { refused: "inbox_unavailable" };
  }

  function answer(incoming: Incoming, context?: FetchContext): Promise<Answer> {
    const { successor } = takenName;
    if (successor !== undefined) return successor.answer(incoming, context);
    return answered(incoming, context).catch((error) => acknowledge(unexpected(error)));
  }

  async function answered(incoming: Incoming, context?: FetchContext): Promise<Answer> {
    const deadline = new Deadline(clock, clock.now(), limits.ackMs);
    const id = newId(deadline.startedAt);
    const attempted = context?.waitUntil === undefined ? null : engine.attempted(id);
    const run = bind((given: Incoming) => decide(given, id, deadline));
    const deciding = around === undefined ? run(incoming) : around.receive(incoming, id, run);
    const place = requests.add(deciding);
    try {
      context?.waitUntil?.(Promise.allSettled([deciding, attempted]));
    } catch (error) {
      failed({ error: describe(error) }, "waitUntil failed: going on without it.");
    }
    let decision: Decision;
    try {
      decision = await deciding;
    } catch (error) {
      decision = unexpected(error);
    }
    deadline.end();
    requests.delete(place);
    logAnswer(logger, id, decision, deadline);
    if ("refused" in decision) warnOfRefusal(decision.refused, incoming);
    const works = engine.started && !engine.closing;
    const goesOn = "id" in decision && decision.id === id && works;
    if (!goesOn || settings.ack === "handled") engine.forget(id);
    if (incoming.answered === true) warnOfRefusal("answered", incoming);
    return acknowledge(decision, incoming.multiplexed);
  }

  async function shutDown(timeoutMs: number): Promise<void> {
    const until = clock.now() + timeoutMs;
    await engine.close(timeoutMs, () => Promise.allSettled(requests.items));
    drained = true;
    await Promise.allSettled(requests.items);
    try {
      around?.end();
    } finally {
      takenName.giveBack();
      await use.end(clock, Math.min(timeoutMs, until - clock.now()));
    }
  }

  function look<T>(what: () => Promise<T>): Promise<T> {
    return use.look(what, clock, engine.onError);
  }

  const receiver: Receiver<Context, S> = {
    name,
    on(names, handler) {
      const { started } = engine;
      register(registrations, { name, started }, names, handler as unknown as AnyHandler);
      return receiver;
    },
    fetch: async (request, context) =>
      toResponse(await answer(incomingFromRequest(request), context)),
    mount() {
      // Handlers may still be registered in this turn; where timers are forbidden, the first request starts it.
      try {
        setTimeout(engine.autostart, 0);
      } catch {}
      return answer;
    },
    start: engine.start,
    async close({ timeoutMs = 25_000 } = {}) {
      checkMs("close: timeoutMs", timeoutMs);
      const isInside = isInsideHandler();
      closed ??= bind(shutDown)(timeoutMs);
      if (isInside) closed.catch(engine.onError);
      else await closed;
    },
    async idle({ timeoutMs = 5_000 } = {}) {
      checkMs("idle: timeoutMs", timeoutMs);
      await engine.idle(timeoutMs);
    },
    async callbackUrl(base, { context } = {}) {
      if (callbacks === null) throw new TypeError("callbackUrl needs the option callback");
      return callbacks.url(base, context);
    },
    health,
    inbox: receiverInbox(settings, () => engine.prune(lookMs), look),
  };
  return Object.freeze(receiver);
}
