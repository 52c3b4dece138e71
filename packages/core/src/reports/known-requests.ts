import { withoutToken } from "../callback-urls/callback-url.ts";
import { ReporthookError } from "../errors.ts";
import type { EventType, Verification } from "../events/events.ts";
import { dedupeKey } from "../inbox/dedupe-key.ts";
import type { Job } from "../inbox/delivery.ts";
import { newId } from "../inbox/id.ts";
import type { AddResult } from "../inbox/inbox.ts";
import type { ReceiverView } from "../inbox/receiver-inbox.ts";
import type { RequestStore, StoredRequest } from "../inbox/request-store.ts";
import { safeGet } from "../lib/safe-get.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { firstOf } from "../lib/time/timeout.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { ends, erasedRequest, withEvent } from "./request.ts";

/** A job of a request, which is null if it is not known. */
export interface KnownJob extends Job {
  readonly request?: StoredRequest | null;
}

/** Whether the handlers of a delivery may run. */
interface Brought {
  readonly request: StoredRequest;
  /** Why they may not; null if they may. */
  readonly repeats: string | null;
  /** Whether it brings a final status to a request that has the other one. */
  readonly isAnotherEnd: boolean;
}

const [firstMs, lastMs] = [250, 5_000];

/** The requests of one receiver in its inbox, and the deliveries that it stores about them itself. */
export class KnownRequests {
  readonly #receiver: ReceiverView;
  readonly #store: RequestStore | undefined;
  readonly #waiting = new Set<{ readonly id: string; end(): void }>();
  #isClosed = false;

  constructor(receiver: ReceiverView, ack: ReceiverSettings["ack"] = "stored") {
    this.#receiver = receiver;
    this.#store = ack === "handled" ? undefined : receiver.inbox.requests;
  }

  /**
   * @throws TypeError if no requests are kept
   * @throws ReporthookError `closed` once the receiver is: the inbox would be opened again
   */
  get store(): RequestStore {
    if (this.#store === undefined) throw new TypeError(keepsNone);
    this.#assertOpen();
    return this.#store;
  }

  /** Resolves to the store once the time of the inbox is joined. Rejects with what {@link store} throws. */
  async ready(): Promise<RequestStore> {
    const { store } = this;
    await this.#receiver.time.join();
    return store;
  }

  /** The receiver is closed: nothing is recorded any more, and nobody waits. */
  end(): void {
    this.#isClosed = true;
    for (const { end } of this.#waiting) end();
  }

  async find(id: string | null): Promise<StoredRequest | null> {
    if (id === null || this.#store === undefined) return null;
    return this.store.get(id, this.#receiver.name);
  }

  /** @throws ReporthookError `not_found` */
  async get(id: string): Promise<StoredRequest> {
    const request = await this.find(id);
    if (request !== null) return request;
    throw new ReporthookError("not_found", `No request with the id ${id}`);
  }

  /**
   * Resolves to a request once it has come to its end. Rejects `not_found`, `wait_timeout`, `closed`, or with the signal's reason;
   * an inbox that fails meanwhile may be back before the timeout.
   */
  async settled(id: string, timeoutMs: number, signal?: AbortSignal): Promise<StoredRequest> {
    const { clock } = this.#receiver;
    // A virtual clock may stand still, or leap.
    const [since, realSince] = [clock.now(), realClock.now()];
    signal?.throwIfAborted();
    let request = await this.get(id);
    let failure: ErrorOptions = {};
    for (let ms = firstMs; request.settledAt === null; ms = Math.min(1.5 * ms, lastMs)) {
      const leftMs = timeoutMs - Math.max(clock.now() - since, realClock.now() - realSince);
      if (leftMs <= 0) {
        const message = `Request ${id} is ${request.state} after ${timeoutMs} ms`;
        throw new ReporthookError("wait_timeout", message, failure);
      }
      await this.pause(id, Math.min(ms, leftMs), signal);
      signal?.throwIfAborted();
      try {
        request = await this.get(id);
        failure = {};
      } catch (error) {
        if (["not_found", "closed"].includes(String(safeGet(error, "code")))) throw error;
        failure = { cause: error };
      }
    }
    return request;
  }

  /** Resolves after so many milliseconds of real time, when the signal is aborted, or when the request has come to its end here. */
  async pause(id: string, ms: number, signal?: AbortSignal): Promise<void> {
    const waiting = { id, end: (): void => {} };
    const ended = new Promise<void>((resolve) => {
      waiting.end = resolve;
    });
    this.#waiting.add(waiting);
    await firstOf(ended, ms, signal);
    this.#waiting.delete(waiting);
  }

  /** A job with its request and the context of that; without the token that is required, if the request is not known. */
  async withRequest(job: Job): Promise<KnownJob> {
    const request = await this.find(job.requestId);
    return { ...job, request, context: request === null ? withoutToken : request.context };
  }

  /** Has a delivery bring an event of its request, unless another one did or it comes too late; null if the request is not known. */
  async bring(
    delivery: Pick<KnownJob, "id" | "request" | "verification">,
    type: EventType,
    reportId: string | null,
  ): Promise<Brought | null> {
    if (!delivery.request) return null;
    let repeats: string | null = null;
    let isNew = false;
    const request = await changeRequest(this.store, delivery.request, async (read) => {
      repeats = await this.whyNot(read, type, delivery);
      isNew = repeats === null && read.brought[type]?.by !== delivery.id;
      return isNew ? withEvent(read, type, delivery, reportId, this.#receiver.clock) : read;
    });
    if (request === null) return null;
    if (request.settledAt !== null) {
      for (const { id, end } of this.#waiting) if (id === request.id) end();
    }
    if (request.isErased === true) repeats ??= "no handler ran: the request was erased";
    const isAnotherEnd = isNew && (ends[type] ?? request.state) !== request.state;
    return { request, repeats, isAnotherEnd };
  }

  /** Why no handler may run for an event that a delivery brings; null if they may. */
  async whyNot(
    request: StoredRequest,
    type: EventType,
    { id, verification }: Pick<Job, "id" | "verification">,
  ): Promise<string | null> {
    const { inbox, name } = this.#receiver;
    const earlier = request.brought[type];
    const isFirst = earlier?.by === id;
    // One that was discarded before its handlers succeeded leaves the event to others.
    if (earlier !== undefined && !isFirst) {
      const isTaken = earlier.done || (await inbox.get(earlier.by, name)) !== null;
      if (isTaken) return `no handler ran: it repeats ${earlier.by}`;
    }
    const isLate =
      type === "report.overdue" ||
      (type === "report.processing" && !isFirst) ||
      (verification === "settled" && earlier === undefined);
    const isOver = isLate && request.settledAt !== null;
    return isOver ? `no handler ran: the request was ${request.state}` : null;
  }

  /** Notes that the handlers of the delivery that brought an event have succeeded. */
  async done(request: StoredRequest, type: EventType, by: string): Promise<void> {
    await changeRequest(this.store, request, (read) => {
      const known = read.brought[type];
      if (known?.by !== by || known.done) return read;
      return { ...read, brought: { ...read.brought, [type]: { by, done: true } } };
    });
  }

  /** Stores an event of a request that no notification brought: each of them once. */
  async addEvent(
    { id: requestId, reportId }: StoredRequest,
    type: EventType,
    verification: Verification | null,
    body: Uint8Array = nothing,
  ): Promise<AddResult> {
    const { clock, inbox, name: receiver } = this.#receiver;
    const receivedAt = clock.wallNow();
    const delivery = {
      id: newId(receivedAt),
      receiver,
      receivedAt,
      arrivedAt: clock.now(),
      signature: null,
      url: "",
      context: null,
      requestId,
      headers: {},
      body,
    };
    // No header can carry a line feed: no notification has such a signature.
    const signature = `${type}\n${requestId}`;
    const key = await dedupeKey({ ...delivery, signature, body: nothing });
    this.#assertOpen();
    return inbox.add({ ...delivery, key }, { to: "verified", verification, type, reportId });
  }

  #assertOpen(): void {
    if (!this.#isClosed) return;
    throw new ReporthookError("closed", `Receiver ${this.#receiver.name} is closed`);
  }
}

/**
 * Changes a request that was read, as long as others change it meanwhile; `next` gets it as it is, and returns it to leave it
 * alone, null to delete it. Resolves to what is stored then.
 */
export async function changeRequest(
  store: RequestStore,
  request: StoredRequest,
  next: (read: StoredRequest) => StoredRequest | null | Promise<StoredRequest | null>,
): Promise<StoredRequest | null> {
  let read: StoredRequest | null = request;
  while (read !== null) {
    const changed = await next(read);
    if (changed === read) return read;
    // An erased one tells nothing of what comes later.
    const kept = changed?.isErased === true ? erasedRequest(changed) : changed;
    const stored = kept === null ? null : { ...kept, version: read.version + 1 };
    if (await store.replace(read, stored)) return stored;
    read = await store.get(request.id, request.receiver);
  }
  return null;
}

const nothing = /* @__PURE__ */ new Uint8Array();

const keepsNone =
  'receiver.reports: with ack: "handled", or on this inbox, a receiver keeps no requests. Give createReceiver ack: "stored", the default, and an inbox such as sqliteInbox(path), or bullmqInbox on Redis';
