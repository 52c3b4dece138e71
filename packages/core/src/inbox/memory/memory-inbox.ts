import { ReporthookError } from "../../errors.ts";
import { endOfTick } from "../../lib/end-of-tick.ts";
import { laterMark, noMark } from "../../lib/timekeeper.ts";
import { assertKnownKeys, assertOption, assertPositive } from "../../lib/validate.ts";
import { isParked, isWaiting } from "../delivery.ts";
import type { Consumer, Inbox } from "../inbox.ts";
import { filterEntries, summarize, zeroCounts } from "../query.ts";
import { isOver, type Retention, type RetentionOptions, retentionOf } from "../retention.ts";
import { ShownChanges } from "../shown-changes.ts";
import { detailsOf, entryOf, newStoredDelivery, type StoredDelivery } from "../stored-delivery.ts";
import { assertParked, assertReleasable, notFound, notWaiting, reopen } from "../transitions.ts";
import { type DeliveryChanges, MemoryConsumer } from "./consumer.ts";
import { type KnownKey, keyText, MemoryDedupeWindow } from "./dedupe-window.ts";
import { bytesOf, Ended } from "./limits.ts";
import { WaitingDeliveries } from "./waiting.ts";

/** Options of `memoryInbox`. */
export interface MemoryInboxOptions {
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: RetentionOptions | undefined;
  /** Maximum bytes kept at once: bodies, long addresses, long signatures; beyond it `add` rejects `overloaded`. 256 MiB. */
  readonly maxBytes?: number | undefined;
  /** Accepts the loss of deliveries: required where an instance may end after the answer (Workers, Lambda). */
  readonly acceptLoss?: boolean | undefined;
}

/**
 * An inbox in this process' memory: fast, but a crash loses acknowledged deliveries. Keeps the last 1,000 handled.
 *
 * @throws TypeError for a wrong or unknown option
 * @example
 * const receiver = createReceiver({ client, inbox: memoryInbox({ maxBytes: 64 * 2 ** 20 }) });
 */
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox {
  return new MemoryInbox(options);
}

/** Milliseconds in which a receiver that begins asks about what waits. */
const hastenedMs = 10_000;

/** A delivery in memory. */
interface Slot extends StoredDelivery {
  /** Its key in the window; unsigned deliveries have none. */
  knownKey?: KnownKey;
}

class MemoryInbox implements Inbox {
  readonly identity: unknown = this;
  readonly guarantees: Inbox["guarantees"];
  readonly #retention: Retention;
  readonly #maxBytes: number;
  readonly #stored = new Map<string, Slot>();
  readonly #ended = new Ended<Slot>();
  readonly #window = new MemoryDedupeWindow();
  readonly #waiting = new WaitingDeliveries<Slot>();
  readonly #consumers: Consumer[] = [];
  readonly #shown = new ShownChanges();
  #time = noMark;

  constructor(options: MemoryInboxOptions) {
    assertKnownKeys("memoryInbox", options, ["retention", "maxBytes", "acceptLoss"]);
    const { retention, maxBytes = 268_435_456, acceptLoss = false } = options;
    const isSaid = typeof acceptLoss === "boolean";
    assertOption("memoryInbox: acceptLoss", "true or false", acceptLoss, isSaid);
    assertPositive("memoryInbox: maxBytes", "", maxBytes);
    this.guarantees = {
      ...{ durability: "process", noticesReuse: true, clock: "given", order: "exact" },
      finds: "everything",
      ...(acceptLoss && { lossAccepted: true }),
    };
    this.#retention = retentionOf("memoryInbox", retention);
    this.#maxBytes = maxBytes;
  }

  readonly open: Inbox["open"] = async () => {};
  readonly health: Inbox["health"] = async () => ({ ok: true });
  readonly keepTime: NonNullable<Inbox["keepTime"]> = async (mark) => {
    this.#time = laterMark(this.#time, mark);
    return this.#time;
  };

  /** Ends the work; the deliveries stay, for a receiver that opens it again. */
  readonly close: Inbox["close"] = async () => {
    await Promise.all(this.#consumers.splice(0).map((consumer) => consumer.abort()));
  };

  readonly add: Inbox["add"] = async (delivery, arrival) => {
    const { id, arrivedAt } = delivery;
    const key = delivery.key && keyText(delivery.key);
    const { duplicateOf, sameSignatureAs = null } = this.#window.look(key, arrivedAt);
    if (duplicateOf !== undefined) return { status: "duplicate", id: duplicateOf };
    this.#makeRoom(bytesOf(delivery));
    const stored: Slot = newStoredDelivery(delivery, arrival, sameSignatureAs);
    if (key !== null) stored.knownKey = this.#window.add(key, id, arrivedAt);
    this.#stored.set(id, stored);
    this.#waiting.count(stored, 1);
    const waits = isWaiting(stored.state);
    if (!waits) this.#place(stored, arrivedAt);
    await endOfTick();
    if (waits) this.#place(stored, arrivedAt);
    return sameSignatureAs === null
      ? { status: "added", id }
      : { status: "added", id, sameSignatureAs };
  };

  readonly consume: Inbox["consume"] = (stage, work, policy) => {
    const queue = this.#waiting.of(policy.receiver)[stage];
    // Nobody knows how much of a delay has passed between two receivers.
    if (stage === "verify") queue.hasten(policy.clock.now() + hastenedMs);
    const deliveries: DeliveryChanges<Slot> = {
      change: (stored, change) => this.#change(stored, change),
      place: (stored, now) => this.#place(stored, now),
    };
    const consumer = new MemoryConsumer(queue, deliveries, work, policy);
    this.#consumers.push(consumer);
    return consumer;
  };

  readonly get: Inbox["get"] = async (id, receiver) => {
    const stored = this.#find(id, receiver);
    return stored === undefined ? null : this.#shown.show(detailsOf(stored, this.#wallOffset));
  };

  readonly list: Inbox["list"] = async (query = {}) =>
    filterEntries(this.#stored.values(), query).map((stored) =>
      this.#shown.show(entryOf(stored, this.#wallOffset)),
    );
  readonly summary: Inbox["summary"] = async (query) => summarize(this.#stored.values(), query);
  readonly backlog: Inbox["backlog"] = (receiver) => this.#waiting.of(receiver).load;

  readonly counts: Inbox["counts"] = async (receiver) => {
    const counts = zeroCounts();
    for (const { state } of this.#of(receiver)) counts[state]++;
    return counts;
  };

  readonly oldestWaiting: Inbox["oldestWaiting"] = async (receiver) => {
    let oldest = Number.POSITIVE_INFINITY;
    for (const { state, arrivedAt } of this.#of(receiver)) {
      if (isWaiting(state)) oldest = Math.min(oldest, arrivedAt);
    }
    return Number.isFinite(oldest) ? new Date(oldest) : null;
  };

  readonly release: Inbox["release"] = async (query) => {
    const { receiver, now } = query;
    if ("reason" in query) {
      const parked = [...this.#of(receiver)].filter(
        ({ state, reason }) => isParked(state) && reason?.code === query.reason,
      );
      for (const stored of parked) this.#reopen(stored, now);
      return parked.length;
    }
    const stored = this.#mustFind("id" in query ? query.id : query.retry, receiver);
    if ("id" in query) {
      assertReleasable(stored);
      this.#reopen(stored, now);
      return 1;
    }
    const isLater = isWaiting(stored.state) && stored.dueAt > now;
    if (!isLater || !this.#waiting.of(receiver)[stored.stage].remove(stored))
      throw notWaiting(stored.id);
    stored.dueAt = now;
    this.#place(stored, now);
    return 1;
  };

  readonly discard: Inbox["discard"] = async (id, receiver) => {
    const stored = this.#mustFind(id, receiver);
    assertParked(stored);
    this.#delete(stored);
  };

  readonly prune: Inbox["prune"] = async (now) => {
    const before = this.#stored.size;
    this.#window.prune(now.getTime());
    for (const stored of this.#stored.values()) {
      if (isOver(stored, this.#retention, now.getTime())) this.#delete(stored);
    }
    return before - this.#stored.size;
  };

  get #wallOffset(): number {
    return this.#time.wallAt - this.#time.livedAt;
  }

  #reopen(stored: Slot, now: number): void {
    this.#change(stored, () => reopen(stored, now));
    this.#place(stored, now);
  }

  #change(stored: Slot, change: () => void): void {
    this.#waiting.count(stored, -1);
    if (!isWaiting(stored.state)) this.#ended.delete(stored);
    change();
    stored.changedAt = this.#shown.after(stored.changedAt);
    this.#waiting.count(stored, 1);
  }

  /** Puts it where its state belongs: into a queue, or among the latest that have ended. */
  #place(stored: Slot, now: number): void {
    if (isWaiting(stored.state)) this.#waiting.of(stored.receiver)[stored.stage].push(stored, now);
    else this.#ended.add(stored, (oldest) => this.#delete(oldest));
  }

  #delete(stored: Slot): void {
    this.#waiting.count(stored, -1);
    this.#ended.delete(stored);
    // A handled delivery stays known as a duplicate; any other that is deleted must not hide its copy.
    if (stored.state !== "handled") this.#window.forget(stored.knownKey);
    this.#stored.delete(stored.id);
  }

  #makeRoom(bytes: number): void {
    const fits = (): boolean => this.#waiting.bytes + bytes <= this.#maxBytes;
    if (fits()) return;
    for (const stored of this.#ended.oldest()) {
      this.#delete(stored);
      if (fits()) return;
    }
    const message = `The deliveries waiting in memory are over maxBytes (${this.#maxBytes})`;
    throw new ReporthookError("overloaded", message);
  }

  *#of(receiver: string | undefined): Generator<Slot> {
    for (const stored of this.#stored.values()) {
      if (receiver === undefined || stored.receiver === receiver) yield stored;
    }
  }

  #find(id: string, receiver: string | undefined): Slot | undefined {
    const stored = this.#stored.get(id);
    return receiver === undefined || stored?.receiver === receiver ? stored : undefined;
  }

  #mustFind(id: string, receiver: string | undefined): Slot {
    const stored = this.#find(id, receiver);
    if (stored !== undefined) return stored;
    throw notFound(id);
  }
}
