import { withoutToken } from "../callback-urls/callback-url.ts";
import { ReporthookError } from "../errors.ts";
import type { EventType } from "../events/events.ts";
import type { Job } from "../inbox/delivery.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { RequestStore, StoredRequest } from "../inbox/request-store.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";
import { claimed, erasedRequest, isSettled } from "./request.ts";

/** The answer to {@link KnownRequests.claim}: whether the handlers of the delivery may run. */
export interface Claim {
  readonly request: StoredRequest;
  /** Why they may not; null if they may. */
  readonly repeats: string | null;
  /** Whether this is the first delivery with this event. */
  readonly isNew: boolean;
}

/** The requests of one receiver in its inbox. */
export class KnownRequests {
  isClosed = false;
  /** Called when one has come to its end. */
  onSettled = (): void => {};
  readonly #inbox: Inbox;
  readonly #receiver: string;
  readonly #clock: Pick<ReceiverClock, "now" | "wallOffset">;

  constructor(inbox: Inbox, receiver: string, clock: Pick<ReceiverClock, "now" | "wallOffset">) {
    this.#inbox = inbox;
    this.#receiver = receiver;
    this.#clock = clock;
  }

  /** @throws ReporthookError `closed` once the receiver is: the inbox would be opened again */
  get store(): RequestStore | undefined {
    if (!this.isClosed) return this.#inbox.requests;
    throw new ReporthookError("closed", `Receiver ${this.#receiver} is closed`);
  }

  /** Stores a new one and resolves to null; to the one that has its key, if there is one. */
  async add(request: StoredRequest): Promise<StoredRequest | null> {
    return (await this.store?.add(request)) ?? null;
  }

  async find(id: string | null): Promise<StoredRequest | null> {
    return id === null ? null : ((await this.store?.get(id, this.#receiver)) ?? null);
  }

  /**
   * Changes a request as long as others change it meanwhile; `next` gets it as it is, and returns it to leave it alone, null to
   * delete it. Resolves to what is stored then. If it was just read, `known` saves reading it again.
   */
  async change(
    id: string,
    next: (request: StoredRequest) => StoredRequest | null | Promise<StoredRequest | null>,
    known: StoredRequest | null = null,
  ): Promise<StoredRequest | null> {
    for (let read = known; ; read = null) {
      read ??= await this.find(id);
      if (read === null) return null;
      const changed = await next(read);
      if (changed === read) return read;
      const version = read.version + 1;
      // An erased one tells nothing of what comes later.
      const kept = changed?.isErased === true ? erasedRequest(changed) : changed;
      const stored = kept === null ? null : { ...kept, version };
      if (await this.store?.replace(read, stored)) return stored;
    }
  }

  /** A job with the context of its request; without the token that is required, if the request is not known. */
  async withContext(job: Job): Promise<Job> {
    const request = await this.find(job.requestId);
    return { ...job, context: request === null ? withoutToken : request.context };
  }

  /** Has a delivery bring an event of its request, unless another one did, or a person tells it after the end; null if the request is not known. */
  async claim(
    id: string,
    type: EventType,
    by: string,
    reportId: string | null,
    isByHand = false,
  ): Promise<Claim | null> {
    let repeats: string | null = null;
    let isNew = false;
    const request = await this.change(id, async (read) => {
      repeats = await this.#whyNot(read, type, by, isByHand);
      isNew = repeats === null && read.claims[type]?.by !== by;
      if (!isNew) return read;
      const { wallOffset } = this.#clock;
      return claimed(read, type, by, reportId, { now: this.#clock.now(), wallOffset });
    });
    if (request === null) return null;
    if (isNew && isSettled(request)) this.onSettled();
    if (request.isErased === true) repeats ??= "no handler ran: the request was erased";
    return { request, repeats, isNew };
  }

  /** Notes that the handlers of the delivery that brought an event have succeeded. */
  async done(id: string, type: EventType, by: string): Promise<void> {
    await this.change(id, (read) => {
      const claim = read.claims[type];
      if (claim?.by !== by || claim.done) return read;
      return { ...read, claims: { ...read.claims, [type]: { by, done: true } } };
    });
  }

  async #whyNot(
    request: StoredRequest,
    type: EventType,
    by: string,
    isByHand: boolean,
  ): Promise<string | null> {
    const earlier = request.claims[type];
    const isOutdated = isByHand || type === "report.processing";
    const isLate = type === "report.overdue" || (isOutdated && earlier === undefined);
    if (isLate && isSettled(request)) return `no handler ran: the request was ${request.state}`;
    if (earlier === undefined || earlier.by === by) return null;
    // One that was discarded before its handlers succeeded leaves its event to others.
    const isTaken = earlier.done || (await this.#inbox.get(earlier.by, this.#receiver)) !== null;
    return isTaken ? `no handler ran: it repeats ${earlier.by}` : null;
  }
}
