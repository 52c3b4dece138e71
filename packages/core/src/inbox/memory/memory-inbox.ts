import { addCounts } from "../../lib/add-counts.ts";
import { endOfTick } from "../../lib/time/real-timers.ts";
import { assertBoolean, assertKnownKeys, assertPositive } from "../../lib/validate.ts";
import type { ActQuery, ActStep } from "../acts/act.ts";
import { ActLog } from "../acts/act-log.ts";
import { ActCount, selectorOf } from "../acts/acting.ts";
import { countStates, type ReasonTally } from "../counts.ts";
import { isWaiting } from "../delivery.ts";
import { groupErrors } from "../facts/error-groups.ts";
import { countDeleted, factsOf } from "../facts/facts.ts";
import { summarize } from "../facts/summary.ts";
import type { Consumer, Inbox } from "../inbox.ts";
import { Notices } from "../notices.ts";
import { filterEntries } from "../query.ts";
import { PruneCount, type Retention, type RetentionOptions, retentionOf } from "../retention.ts";
import { detailsOf, entryOf, newStoredDelivery, ShownChanges } from "../stored-delivery.ts";
import { laterMark, noMark } from "../timekeeper.ts";
import { applyAct, applyOutcome, dropContent } from "../transitions.ts";
import { MemoryConsumer, type RecordOutcome } from "./consumer.ts";
import { keyText, MemoryDedupeWindow, type MemoryDelivery } from "./dedupe-window.ts";
import { MemoryRequests } from "./memory-requests.ts";
import { MemoryRoom } from "./room.ts";
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

class MemoryInbox implements Inbox {
  readonly identity: unknown = this;
  readonly guarantees: Inbox["guarantees"];
  readonly requests: MemoryRequests = new MemoryRequests();
  readonly #retention: Retention;
  readonly #stored = new Map<string, MemoryDelivery>();
  readonly #room: MemoryRoom;
  readonly #window = new MemoryDedupeWindow();
  readonly #waiting = new WaitingDeliveries();
  readonly #consumers: Consumer[] = [];
  readonly #shown = new ShownChanges();
  readonly #acts = new ActLog();
  readonly #deleted = new Map<string, ReasonTally>();
  readonly #notes = new Map<string, Map<string, string>>();
  readonly #notices = new Notices();
  #time = noMark;

  constructor(options: MemoryInboxOptions) {
    assertKnownKeys("memoryInbox", options, ["retention", "maxBytes", "acceptLoss"]);
    const { retention, maxBytes = 268_435_456, acceptLoss = false } = options;
    assertBoolean("memoryInbox: acceptLoss", acceptLoss);
    assertPositive("memoryInbox: maxBytes", "", maxBytes);
    this.#room = new MemoryRoom(
      maxBytes,
      (stored) => this.#delete(stored),
      (stored) => this.#empty(stored),
    );
    this.#retention = retentionOf("memoryInbox", retention);
    this.guarantees = {
      durability: "process",
      noticesReuse: true,
      clock: "given",
      order: "exact",
      finds: "everything",
      ...(acceptLoss && { lossAccepted: true }),
    };
  }

  readonly open: Inbox["open"] = async () => {};
  readonly health: Inbox["health"] = async () => ({ ok: true });
  readonly keepTime: NonNullable<Inbox["keepTime"]> = async (mark) =>
    (this.#time = laterMark(this.#time, mark));

  /** Ends the work; the deliveries stay, for a receiver that opens it again. */
  readonly close: Inbox["close"] = async () => {
    await Promise.all(this.#consumers.splice(0).map((consumer) => consumer.abort()));
  };

  readonly add: Inbox["add"] = async (delivery, arrival) => {
    const { id, arrivedAt } = delivery;
    const key = delivery.key && keyText(delivery.key);
    const { duplicateOf, sameSignatureAs = null } = this.#window.find(key, arrivedAt);
    if (duplicateOf !== undefined) return { status: "duplicate", id: duplicateOf };
    this.#room.makeFor(delivery);
    const stored: MemoryDelivery = newStoredDelivery(delivery, arrival, sameSignatureAs);
    if (key !== null) stored.dedupeKey = this.#window.add(key, id, arrivedAt);
    this.#stored.set(id, stored);
    this.#count(stored, 1);
    const waits = isWaiting(stored.state);
    if (!waits) stored.changedAt = this.#shown.after(arrivedAt);
    if (!waits) this.#place(stored, arrivedAt);
    await endOfTick();
    if (waits) this.#place(stored, arrivedAt);
    return sameSignatureAs === null
      ? { status: "added", id }
      : { status: "added", id, sameSignatureAs };
  };

  readonly consume: Inbox["consume"] = (stage, work, policy) => {
    const queue = this.#waiting.queue(policy.receiver, stage);
    // Nobody knows how much of a delay has passed between two receivers.
    if (stage === "verify") queue.bringForward(policy.clock.now() + hastenedMs);
    const record: RecordOutcome = (stored, outcome, startedAt) => {
      const { wallOffset } = policy.clock;
      const now = policy.clock.now();
      this.#change(stored, () => applyOutcome(stored, outcome, startedAt, { now, wallOffset }));
      this.#place(stored, now);
    };
    const consumer = new MemoryConsumer(queue, record, work, policy, this.#notices);
    this.#consumers.push(consumer);
    return consumer;
  };

  readonly get: Inbox["get"] = async (id, receiver) => {
    const stored = this.#stored.get(id);
    if (stored === undefined || (receiver ?? stored.receiver) !== stored.receiver) return null;
    return this.#shown.show(detailsOf(stored, this.#wallOffset));
  };

  readonly list: Inbox["list"] = async (query = {}) =>
    filterEntries(this.#stored.values(), query).map((stored) =>
      this.#shown.show(entryOf(stored, this.#wallOffset)),
    );
  readonly summary: Inbox["summary"] = async (query) => summarize(this.#stored.values(), query);
  readonly backlog: Inbox["backlog"] = (receiver) => this.#waiting.backlog(receiver);

  readonly counts: Inbox["counts"] = async (receiver) =>
    countStates(this.#stored.values(), receiver);

  readonly facts: Inbox["facts"] = async (receiver) =>
    factsOf(this.#stored.values(), receiver, this.#retention, { ...this.#deleted.get(receiver) });

  readonly notes: Inbox["notes"] = async (receiver, prefix) => {
    const all = [...(this.#notes.get(receiver) ?? [])];
    return Object.fromEntries(all.filter(([key]) => key.startsWith(prefix)));
  };

  readonly keepNotes: Inbox["keepNotes"] = async (receiver, notes) => {
    const kept = this.#notes.get(receiver) ?? new Map<string, string>();
    this.#notes.set(receiver, kept);
    for (const [key, text] of Object.entries(notes)) {
      if (text === null) kept.delete(key);
      else kept.set(key, text);
    }
  };

  readonly act: Inbox["act"] = (query) => this.#act(query);

  async *#act(query: ActQuery): AsyncGenerator<ActStep> {
    const { act, now, dryRun = false } = query;
    const found = new Set([...this.#stored.values()].filter(selectorOf(query)));
    // One that is worked on is in no queue.
    const chosen = act === "retry" && !dryRun ? this.#waiting.takeLater(found) : found;
    const step = new ActCount();
    for (const stored of chosen) {
      step.add(stored);
      if (dryRun) continue;
      if (act === "discard") this.#delete(stored);
      else this.#change(stored, () => applyAct(stored, query));
      if (act !== "discard") this.#place(stored, now);
    }
    if (!dryRun) this.#acts.add(query, step.total);
    yield step;
  }

  readonly errors: Inbox["errors"] = async (query) => groupErrors(this.#stored.values(), query);
  readonly acts: Inbox["acts"] = async (query = {}) => this.#acts.list(query);

  readonly prune: Inbox["prune"] = async (date, { dryRun = false } = {}) => {
    const now = date.getTime();
    const pruned = new PruneCount(this.#retention);
    if (!dryRun) this.#window.prune(now);
    for (const stored of this.#stored.values()) {
      const step = pruned.step(stored, now);
      if (step === "announce" && !dryRun) stored.announcedAt = now;
      if (step === "delete" && !dryRun) this.#delete(stored);
    }
    if (!dryRun) this.requests.prune(this.#retention, now, this.#stored.values());
    addCounts(pruned.madeRoom, this.#room.madeRoom);
    if (!dryRun) this.#room.madeRoom = {};
    return pruned;
  };

  get #wallOffset(): number {
    return this.#time.wallAt - this.#time.livedAt;
  }

  /** Adds a delivery to the numbers, or takes it out. */
  #count(stored: MemoryDelivery, by: 1 | -1): void {
    this.#waiting.count(stored, by);
    this.#room.count(stored, by);
  }

  #change(stored: MemoryDelivery, change: () => void): void {
    this.#count(stored, -1);
    if (!isWaiting(stored.state)) this.#room.delete(stored);
    change();
    stored.changedAt = this.#shown.after(stored.changedAt);
    this.#count(stored, 1);
  }

  /** Puts it where its state belongs: into a queue, or among the latest that have ended. */
  #place(stored: MemoryDelivery, now: number): void {
    if (isWaiting(stored.state))
      this.#waiting.queue(stored.receiver, stored.stage).push(stored, now);
    else this.#room.add(stored);
  }

  #delete(stored: MemoryDelivery): void {
    countDeleted(this.#deleted, stored);
    this.#count(stored, -1);
    this.#room.delete(stored);
    // A handled delivery stays known as a duplicate; any other that is deleted must not hide its copy.
    if (stored.state !== "handled") this.#window.forget(stored.dedupeKey);
    this.#stored.delete(stored.id);
  }

  #empty(stored: MemoryDelivery): void {
    const { changedAt } = stored;
    this.#change(stored, () => dropContent(stored));
    stored.changedAt = changedAt;
    this.#room.add(stored);
  }
}
