import { accept } from "./accept.ts";
import { acknowledge, type Decision, type ProblemCode } from "./acknowledge.ts";
import type { Arrival, Entry, EntryDetails, Job, NewDelivery } from "./delivery.ts";
import type { AnyHandler, Registration } from "./dispatch.ts";
import { createEngine } from "./engine.ts";
import { describe, ReporthookError } from "./errors.ts";
import { type EventName, eventNames, type Handler, type Schemas } from "./events.ts";
import { type FetchContext, incomingFromRequest, toResponse } from "./fetch.ts";
import { fingerprint } from "./fingerprint.ts";
import { newId } from "./id.ts";
import type { Counts, InboxHealth, InboxQuery } from "./inbox.ts";
import type { Answer, Incoming } from "./incoming.ts";
import { plainHeaders } from "./incoming.ts";
import { arrivalAfter, handleInline, within } from "./inline.ts";
import { takeName } from "./names.ts";
import { tell } from "./observe.ts";
import { type ReceiverOptions, type Settings, settingsOf } from "./options.ts";
import { type Notification, receive } from "./receive.ts";
import { admitUnsigned } from "./unsigned.ts";
import { createWorker, type Worker } from "./worker.ts";

/** How a receiver is doing. */
export interface Health {
  /** Whether it takes notifications: not when closing, nor when the inbox fails. */
  readonly ready: boolean;
  readonly inbox: InboxHealth;
  /** How the service answered last. */
  readonly service: Worker["service"];
  /** Age of the oldest delivery that is neither handled nor parked, in milliseconds. */
  readonly oldestWaitingMs: number | null;
  readonly counts: Counts;
}

/** A receiver's deliveries, for the person who looks after them. */
export interface ReceiverInbox {
  /** Oldest first. */
  list(query?: Omit<InboxQuery, "receiver">): Promise<Entry[]>;
  /** One in full, or null. */
  get(id: string): Promise<EntryDetails | null>;
  counts(): Promise<Counts>;
  /** Runs a held, dead or handled one, attempts from zero. Rejects `not_found` or `not_releasable`. */
  release(id: string): Promise<void>;
  /** Deletes a parked one. Rejects `not_found` or `not_parked`. */
  discard(id: string): Promise<void>;
}

/** Receives notifications, has them verified, and hands their events to handlers. */
export interface Receiver<S extends Schemas = Record<never, never>> {
  readonly name: string;
  /**
   * Registers a handler for one name or several.
   *
   * @throws TypeError for an unknown name; ReporthookError `already_started` once the work has begun
   * @example receiver.on("report.complete", async (event) => save(event.id, event.reportId));
   */
  on<const Name extends EventName>(
    names: Name | readonly Name[],
    handler: Handler<Name, S>,
  ): Receiver<S>;
  /** Answers a web standard request; needs no `this`. A Workers `ctx` can be passed as it is. */
  readonly fetch: (request: Request, context?: FetchContext) => Promise<Response>;
  /** For adapters: schedules the start, and gives what answers a request. Never rejects. */
  mount(): (incoming: Incoming, context?: FetchContext) => Promise<Answer>;
  /** Begins the work by hand and keeps the process alive until `close`. Rejects when the inbox can't be opened. */
  start(): Promise<void>;
  /** Ends the work: running handlers have `timeoutMs` (25,000) milliseconds to finish. Idempotent. */
  close(options?: { readonly timeoutMs?: number }): Promise<void>;
  /** For tests: resolves when nothing is waiting; rejects `not_idle` after `timeoutMs` (5,000) milliseconds. */
  idle(options?: { readonly timeoutMs?: number }): Promise<void>;
  health(): Promise<Health>;
  readonly inbox: ReceiverInbox;
}

// What is kept free of the one deadline for storing, when authorize is asked first.
const storeMs = 1_000;

/**
 * Makes a receiver: it answers notifications once they are stored, then has them verified and handled.
 *
 * @throws TypeError that names a wrong option
 * @example
 * const receiver = createReceiver({ client });
 * receiver.on("report.complete", async (event) => console.log(event.reportId));
 */
export function createReceiver<const S extends Schemas = Record<never, never>>(
  options: ReceiverOptions<S>,
): Receiver<S> {
  const settings = settingsOf(options as ReceiverOptions);
  const { clock, inbox, limits, logger, name } = settings;
  const claim = takeName(inbox, name);
  if (settings.ack === "stored" && options.inbox === undefined) {
    logger.warn({ receiver: name }, "No inbox is given: a crash loses what was acknowledged.");
  }
  const registrations: Registration[] = [];
  const worker = createWorker({ ...settings, registrations });
  const engine = createEngine(settings, worker);
  const unsigned = admitUnsigned(settings);
  const requests = new Set<Promise<unknown>>();
  let closed: Promise<void> | undefined;
  let drained = false;

  // The way of a notification, in order.
  async function decide(incoming: Incoming, arrivedAt: number): Promise<Decision> {
    engine.autostart();
    if (incoming.method !== "POST") return { refused: "method_not_allowed" };
    const turnedAway = refusal();
    if (turnedAway !== undefined) return { refused: turnedAway };

    const notification = await receive(incoming, { ...settings, ...limits });
    if (typeof notification === "string") return refuseUnread(notification);
    const job = jobOf(notification, newId(arrivedAt), arrivedAt);
    const left = (): number => arrivedAt + limits.ackMs - clock.now();

    const begin = await arrivalOf(notification, incoming, job, left);
    if ("refused" in begin || "status" in begin) return begin;

    const delivery = await deliveryOf(job, name, clock.now() - arrivedAt);
    const holdReuse = settings.reusedSignature === "hold";
    const accepted = await accept(inbox, delivery, begin, { clock, withinMs: left(), holdReuse });
    if (accepted.status === "failed") return refuseUnstored(job.id, accepted.error);
    if (accepted.status === "duplicate") return { status: "duplicate", id: accepted.id };
    if (accepted.sameSignatureAs !== undefined) {
      const ids = { id: job.id, sameSignatureAs: accepted.sameSignatureAs };
      logger.warn(ids, "A signature came again with other bytes.");
    }
    acknowledged(job, begin);
    return { status: "accepted", id: job.id };
  }

  async function arrivalOf(
    notification: Notification,
    incoming: Incoming,
    job: Job,
    left: () => number,
  ): Promise<Arrival | Decision> {
    let begin: Arrival = { to: "received" };
    if (notification.signature === null && notification.claims !== null) {
      const names = Object.keys(plainHeaders(incoming.headers));
      const admitted = unsigned(notification.claims, names, inbox.load(name));
      if (admitted === null) return { refused: "missing_signature" };
      begin = admitted;
    }
    if (settings.ack === "handled") {
      if (begin.to === "held") return { refused: "missing_signature" };
      const started =
        begin.to === "verified" ? { ...job, ...begin, stage: "handle" as const } : job;
      const { decision, outcomes } = await within(clock, left(), (signal) =>
        handleInline(worker, started, signal),
      );
      for (const [at, outcome] of outcomes) engine.observe(at, outcome);
      return decision;
    }
    if (settings.verify === "before-ack" && begin.to === "received") {
      const budget = Math.min(limits.verifyMs, Math.max(left() - storeMs, left() / 2));
      const outcome = await within(clock, budget, (signal) => worker.verify(job, signal));
      engine.observe(job, outcome);
      return arrivalAfter(outcome);
    }
    return begin;
  }

  function refusal(): ProblemCode | undefined {
    const keepsStoring = settings.ack === "stored" && inbox.guarantees.durability !== "process";
    if (engine.closing && !(keepsStoring && !drained)) return "closing";
    if (settings.ack === "handled") return undefined;
    const { waiting, unverified } = inbox.load(name);
    return waiting >= limits.waiting || unverified >= limits.unverified ? "overloaded" : undefined;
  }

  function refuseUnread(code: ProblemCode): Decision {
    if (code === "body_unavailable") {
      logger.error(
        { receiver: name },
        "Something ahead of the webhook consumed the body and left nothing: mount the webhook before it, or let it keep rawBody.",
      );
    }
    return { refused: code };
  }

  function refuseUnstored(id: string, error: unknown): Decision {
    if (error instanceof ReporthookError && error.code === "overloaded") {
      return { refused: "overloaded" };
    }
    logger.error(
      { id, error: describe(error) },
      "A notification could not be stored: answered 503.",
    );
    return { refused: "inbox_unavailable" };
  }

  function acknowledged(job: Job, arrival: Arrival): void {
    const hook = settings.observe.acknowledged;
    if (hook === undefined) return;
    const { type, reportId } = { type: null, reportId: null, ...arrival };
    const reason = "reason" in arrival ? arrival.reason : null;
    const entry: Entry = { ...entryOf(job), state: arrival.to, reason, type, reportId };
    tell(hook, entry, (error) =>
      logger.error({ id: job.id, error: describe(error) }, "A hook of observe failed."),
    );
  }

  async function answer(incoming: Incoming, context?: FetchContext): Promise<Answer> {
    const deciding = decide(incoming, clock.now()).catch((error: unknown): Decision => {
      logger.error(
        { receiver: name, error: describe(error) },
        "A request failed unexpectedly: answered 503.",
      );
      return { refused: "inbox_unavailable" };
    });
    requests.add(deciding);
    context?.waitUntil?.(
      deciding.then((decision) =>
        settings.ack === "stored" && "id" in decision && decision.status === "accepted"
          ? engine.attempted(decision.id)
          : undefined,
      ),
    );
    try {
      return acknowledge(await deciding);
    } finally {
      requests.delete(deciding);
    }
  }

  async function shutDown(timeoutMs: number): Promise<void> {
    await engine.close(timeoutMs, () => Promise.all(requests));
    drained = true;
    await Promise.all(requests);
    await claim.giveBack();
  }

  const receiver: Receiver<S> = {
    name,
    on(names, handler) {
      register(registrations, settings, engine.started, names, handler as unknown as AnyHandler);
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
    start: () => engine.start(),
    close({ timeoutMs = 25_000 } = {}) {
      closed ??= shutDown(timeoutMs);
      return closed;
    },
    idle: ({ timeoutMs = 5_000 } = {}) => engine.idle(timeoutMs),
    async health() {
      const health = await inbox.health();
      const oldest = health.ok ? await inbox.oldestWaiting(name) : null;
      return {
        ready: health.ok && !engine.closing,
        inbox: health,
        service: worker.service,
        oldestWaitingMs: oldest === null ? null : Math.max(0, clock.now() - oldest.getTime()),
        counts: await inbox.counts(name),
      };
    },
    inbox: {
      list: (query = {}) => inbox.list({ ...query, receiver: name }),
      get: (id) => inbox.get(id, name),
      counts: () => inbox.counts(name),
      release: async (id) => {
        await inbox.release({ receiver: name, id, now: clock.now() });
      },
      discard: (id) => inbox.discard(id, name),
    },
  };
  return Object.freeze(receiver);
}

function register(
  registrations: Registration[],
  { name }: Settings,
  started: boolean,
  given: EventName | readonly EventName[],
  handler: AnyHandler,
): void {
  if (started) {
    throw new ReporthookError(
      "already_started",
      `Receiver ${name} has started: register handlers before the turn in which it is mounted ends, or set autostart: false and call start() afterwards`,
    );
  }
  const names: readonly EventName[] = typeof given === "string" ? [given] : given;
  for (const one of names) {
    if (eventNames.includes(one)) continue;
    throw new TypeError(
      `on: ${JSON.stringify(one)} is no event name; these are: ${eventNames.join(", ")}`,
    );
  }
  if (names.length === 0) throw new TypeError("on: give at least one event name");
  if (typeof handler !== "function") throw new TypeError("on: the handler must be a function");
  registrations.push({ names, handler });
}

function jobOf(notification: Notification, id: string, arrivedAt: number): Job {
  const { signature, url, headers, body } = notification;
  return {
    ...{ id, signature, url, headers, body, receivedAt: new Date(arrivedAt) },
    ...{ state: "received", stage: "verify", reason: null, type: null, reportId: null },
    ...{ attempts: 0, nextAttemptAt: null, lastError: null, ackMs: 0 },
    ...{ verification: null, released: false, memo: null },
  };
}

function entryOf(job: Job): Entry {
  const {
    id,
    state,
    reason,
    type,
    reportId,
    receivedAt,
    attempts,
    nextAttemptAt,
    lastError,
    ackMs,
  } = job;
  return {
    id,
    state,
    reason,
    type,
    reportId,
    receivedAt,
    attempts,
    nextAttemptAt,
    lastError,
    ackMs,
  };
}

async function deliveryOf(job: Job, receiver: string, ackMs: number): Promise<NewDelivery> {
  const { id, signature, url, headers, body, receivedAt } = job;
  const key = signature === null ? null : await fingerprint({ receiver, signature, url, body });
  return {
    id,
    receiver,
    receivedAt: receivedAt.getTime(),
    key,
    signature,
    url,
    headers,
    body,
    ackMs,
  };
}
