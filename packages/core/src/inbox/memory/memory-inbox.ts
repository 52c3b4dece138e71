import { endOfTurn } from "../../lib/end-of-tick.ts";
import { check, checkPositive, onlyKnown } from "../../lib/validate.ts";
import {
  type Arrival,
  type Entry,
  type EntryDetails,
  isParked,
  isWaiting,
  type NewDelivery,
  type Outcome,
  type Stage,
} from "../delivery.ts";
import type {
  Added,
  Consumer,
  Counts,
  Inbox,
  InboxHealth,
  InboxQuery,
  Load,
  Policy,
  ReleaseQuery,
  Summary,
  SummaryQuery,
  Work,
} from "../inbox.ts";
import { lookFor, sumUp } from "../query.ts";
import { isOver, type Retention, type RetentionOptions, retentionOf } from "../retention.ts";
import { detailsOf, entryOf, type Kept, newKept } from "../stored-delivery.ts";
import {
  applyOutcome,
  assertParked,
  assertReleasable,
  notFound,
  notWaiting,
  reopen,
} from "../transitions.ts";
import { ById } from "./by-id.ts";
import { consumeMemory } from "./consumer.ts";
import { DedupeWindow, type Known } from "./dedupe-window.ts";
import { MemoryQueue } from "./queue.ts";
import { bytesOf, MemoryRoom } from "./store.ts";
import { MemoryTally } from "./tally.ts";

/** Options of `memoryInbox`. */
export interface MemoryInboxOptions {
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: RetentionOptions | undefined;
  /** Most bytes of what came kept at once: bodies, and addresses and signatures that are long; when they are used up `add` rejects `overloaded`. 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** Says that you know: where an instance may end after the answer (Workers, Lambda), a receiver takes it only so. */
  readonly acceptLoss?: boolean | undefined;
}

/**
 * An inbox in this process' memory: fast, and a crash loses what was acknowledged. Keeps the last 1,000 handled.
 *
 * @throws TypeError for a wrong or unknown option
 * @example
 * const receiver = createReceiver({ client, inbox: memoryInbox({ maxBytes: 64 * 2 ** 20 }) });
 */
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox {
  return new MemoryInbox(options);
}

/** What waits for each stage of one receiver. */
type Queues = Readonly<Record<Stage, MemoryQueue<Kept>>>;

const unsigned: Known = {};

class MemoryInbox implements Inbox {
  readonly identity: unknown = this;
  readonly guarantees: Inbox["guarantees"];
  readonly #kept = new ById<Kept>();
  readonly #window = new DedupeWindow();
  readonly #tally = new MemoryTally();
  readonly #queues = new Map<string, Queues>();
  readonly #retention: Retention;
  readonly #room: MemoryRoom;
  readonly #consumers: Consumer[] = [];

  constructor(options: MemoryInboxOptions) {
    onlyKnown("memoryInbox", options, ["retention", "maxBytes", "acceptLoss"]);
    const { retention, maxBytes = 268_435_456, acceptLoss = false } = options;
    const isSaid = typeof acceptLoss === "boolean";
    check("memoryInbox: acceptLoss", "true or false", acceptLoss, isSaid);
    checkPositive("memoryInbox: maxBytes", "", maxBytes);
    this.guarantees = {
      ...{ durability: "process", noticesReuse: true, clock: "given", order: "exact" },
      finds: "everything",
      ...(acceptLoss && { lossAccepted: true }),
    };
    this.#retention = retentionOf("memoryInbox", retention);
    this.#room = new MemoryRoom(maxBytes, (kept) => this.#delete(kept));
  }

  async open(): Promise<void> {}

  async add(delivery: NewDelivery, arrival: Arrival): Promise<Added> {
    const { id, receivedAt, key } = delivery;
    const { duplicateOf, sameSignatureAs } =
      key === null ? unsigned : this.#window.look(key, receivedAt);
    if (duplicateOf !== undefined) return { status: "duplicate", id: duplicateOf };
    const bytes = bytesOf(delivery);
    this.#room.take(bytes);

    const place = key === null ? undefined : this.#window.add(key, id, receivedAt);
    const kept = newKept(delivery, arrival, sameSignatureAs ?? null, place);
    this.#room.free(bytes - bytesOf(kept));
    this.#kept.add(id, kept);
    this.#tally.count(kept, 1);
    const waits = isWaiting(kept.state);
    if (!waits) this.#room.end(kept);
    await endOfTurn();
    if (waits) this.#enqueue(kept, receivedAt);
    return sameSignatureAs === undefined
      ? { status: "added", id }
      : { status: "added", id, sameSignatureAs };
  }

  consume(stage: Stage, work: Work, policy: Policy): Consumer {
    const queue = this.#queue(policy.receiver, stage);
    const consumer = consumeMemory(queue, (...ended) => this.#finish(...ended), work, policy);
    this.#consumers.push(consumer);
    return consumer;
  }

  async get(id: string, receiver?: string): Promise<EntryDetails | null> {
    const kept = this.#find(id, receiver);
    return kept === undefined ? null : detailsOf(kept);
  }

  async list(query: InboxQuery = {}): Promise<Entry[]> {
    return lookFor(this.#kept.values(), query).map(entryOf);
  }

  async summary(query: SummaryQuery): Promise<Summary> {
    return sumUp(this.#kept.values(), query);
  }

  async counts(receiver?: string): Promise<Counts> {
    return this.#tally.counts(receiver);
  }

  load(receiver: string): Load {
    return this.#tally.load(receiver);
  }

  async oldestWaiting(receiver: string): Promise<Date | null> {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { state, receivedAt, receiver: of } of this.#kept.values()) {
      if (isWaiting(state) && of === receiver) oldest = Math.min(oldest, receivedAt);
    }
    return Number.isFinite(oldest) ? new Date(oldest) : null;
  }

  async release(query: ReleaseQuery): Promise<number> {
    const { receiver, now } = query;
    if ("reason" in query) {
      const fitting = [...this.#kept.values()].filter(
        ({ receiver: of, state, reason }) =>
          of === receiver && isParked(state) && reason?.code === query.reason,
      );
      for (const kept of fitting) this.#run(kept, now);
      return fitting.length;
    }
    if ("retry" in query) return this.#retry(query.retry, receiver, now);
    const kept = this.#mustFind(query.id, receiver);
    assertReleasable(kept);
    this.#run(kept, now);
    return 1;
  }

  async discard(id: string, receiver?: string): Promise<void> {
    const kept = this.#mustFind(id, receiver);
    assertParked(kept);
    this.#delete(kept);
  }

  async prune(now: Date): Promise<number> {
    const before = this.#kept.size;
    this.#window.prune(now.getTime());
    for (const kept of this.#kept.values()) {
      if (isOver(kept, this.#retention, now.getTime())) this.#delete(kept);
    }
    return before - this.#kept.size;
  }

  async health(): Promise<InboxHealth> {
    return { ok: true };
  }

  /** Ends the work; what is kept stays, for a receiver that opens it again. */
  async close(): Promise<void> {
    await Promise.all(this.#consumers.splice(0).map((consumer) => consumer.abort()));
  }

  #finish(kept: Kept, outcome: Outcome, startedAt: number, now: number): void {
    this.#change(kept, () => {
      const before = bytesOf(kept);
      applyOutcome(kept, outcome, startedAt, now);
      this.#room.free(before - bytesOf(kept));
    });
    if (isWaiting(kept.state)) this.#enqueue(kept, now);
    else this.#room.end(kept);
  }

  #run(kept: Kept, now: number): void {
    this.#room.leave(kept);
    this.#change(kept, () => reopen(kept, now));
    this.#enqueue(kept, now);
  }

  #retry(id: string, receiver: string, now: number): number {
    const kept = this.#mustFind(id, receiver);
    const { state, stage, dueAt } = kept;
    const waits = isWaiting(state) && dueAt > now;
    if (!waits || !this.#queue(receiver, stage).remove(kept)) throw notWaiting(id);
    kept.dueAt = now;
    this.#enqueue(kept, now);
    return 1;
  }

  #delete(kept: Kept): void {
    this.#room.leave(kept);
    this.#tally.count(kept, -1);
    // What was handled stays a duplicate; anything else that is gone must not swallow its copy.
    if (kept.state !== "handled") this.#window.forget(kept.place, kept.id);
    this.#room.free(bytesOf(kept));
    this.#kept.delete(kept.id);
  }

  #change(kept: Kept, change: () => void): void {
    this.#tally.count(kept, -1);
    change();
    this.#tally.count(kept, 1);
  }

  #enqueue(kept: Kept, now: number): void {
    this.#queue(kept.receiver, kept.stage).push(kept, now);
  }

  #queue(receiver: string, stage: Stage): MemoryQueue<Kept> {
    let queues = this.#queues.get(receiver);
    if (queues === undefined) {
      queues = { verify: new MemoryQueue("verify"), handle: new MemoryQueue("handle") };
      this.#queues.set(receiver, queues);
    }
    return queues[stage];
  }

  #mustFind(id: string, receiver: string | undefined): Kept {
    const kept = this.#find(id, receiver);
    if (kept !== undefined) return kept;
    throw notFound(id);
  }

  #find(id: string, receiver: string | undefined): Kept | undefined {
    const kept = this.#kept.get(id);
    return receiver === undefined || kept?.receiver === receiver ? kept : undefined;
  }
}
