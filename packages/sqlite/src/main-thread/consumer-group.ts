import type {
  ConsumeOptions,
  InboxNotice,
  Processor,
  ReporthookError,
  Stage,
} from "@reporthook/core";
import type { ConsumerState, Reply } from "../protocol/protocol.ts";
import { SqliteConsumer } from "./consumer.ts";
import type { ConsumerSource, Leased } from "./recording.ts";

/** Milliseconds after which the thread is told the time of all receivers, with the next message. */
const staleMs = 1_000;

/** The consumers of one inbox, by number. */
export class ConsumerGroup {
  readonly #source: ConsumerSource;
  readonly #consumers = new Map<number, SqliteConsumer>();
  readonly #byReceiver = new Map<string, Set<SqliteConsumer>>();
  /** The receivers of which a state may be due: looking at all of them with each message takes longer the more there are. */
  readonly #changed = new Set<string>();
  #lastNumber = 0;
  #sentAllAt = Number.NEGATIVE_INFINITY;
  /** When the last message that the thread has answered was sent. */
  #answeredAsOf = Number.NEGATIVE_INFINITY;

  constructor(source: ConsumerSource) {
    this.#source = source;
  }

  start(stage: Stage, processor: Processor, options: ConsumeOptions): SqliteConsumer {
    const number = ++this.#lastNumber;
    const consumer = new SqliteConsumer(number, stage, this.#source, processor, options);
    this.#consumers.set(number, consumer);
    const { receiver } = options;
    this.#byReceiver.set(receiver, (this.#byReceiver.get(receiver) ?? new Set()).add(consumer));
    return consumer;
  }

  /** Has the next message look for the states of a receiver: also when one stage takes over work of the other, both change. */
  noteChange(receiver: string): void {
    this.#changed.add(receiver);
  }

  /** The states to send to the thread, of the consumers for which one is due. */
  takeStates(): ConsumerState[] {
    const states: ConsumerState[] = [];
    const at = performance.now();
    const isAll = at - this.#sentAllAt >= staleMs;
    if (isAll) this.#sentAllAt = at;
    for (const receiver of isAll ? this.#byReceiver.keys() : this.#changed) {
      for (const consumer of this.#byReceiver.get(receiver) ?? []) {
        const state = consumer.takeState(at, isAll);
        if (state !== null) states.push(state);
        // The thread has answered the message that told its end: no more deliveries can come.
        const isOver = consumer.retiredAt <= this.#answeredAsOf && consumer.running === 0;
        if (isOver) this.#forget(consumer);
      }
    }
    this.#changed.clear();
    return states;
  }

  lease(consumer: number, leased: Leased, cost: number): void {
    const leasedTo = this.#consumers.get(consumer);
    if (leasedTo === undefined) return;
    this.noteChange(leasedTo.receiver);
    leasedTo.lease(leased, cost);
  }

  /** Handles the parts of a reply that consumers wait for, or have to tell. */
  answered({ due, poisoned, takeovers, asOf }: Reply): void {
    for (const takeover of takeovers) this.notice({ what: "took_over", ...takeover });
    if (asOf !== null) this.#answeredAsOf = asOf;
    for (const { consumer, at } of due) this.#consumers.get(consumer)?.wakeAt(at);
    const active = poisoned.length > 0 ? this.#active() : [];
    for (const stored of poisoned) {
      const { id, receiver, stage } = stored;
      const own = active.find((one) => one.receiver === receiver && one.stage === stage);
      if (own !== undefined) own.poisoned(stored);
      // The process that runs that receiver is not told.
      else active[0]?.failed(new Error(`Delivery ${id} of ${receiver} is dead: poison`));
    }
  }

  notice(notice: InboxNotice): void {
    for (const { options } of this.#active()) options.onNotice?.(notice);
  }

  /** Another process has taken the leases; `isTold` if the reason is told otherwise. */
  loseLeases(isTold: boolean): void {
    const error = new Error(
      "Lease lost: this process missed its heartbeat, or its file was moved, and its deliveries are handed out again",
    );
    for (const consumer of this.#consumers.values()) {
      if (consumer.running > 0 && !isTold) consumer.failed(error);
      consumer.loseLeases(error, false);
    }
  }

  /** The thread has ended, and with it all leases and credit. */
  endThread(reason: Error): void {
    this.#sentAllAt = Number.NEGATIVE_INFINITY;
    for (const consumer of this.#consumers.values()) consumer.loseLeases(reason, true);
  }

  failed(error: ReporthookError): void {
    for (const consumer of this.#active()) consumer.failed(error);
  }

  /** Whether any consumer has not stopped. */
  get isActive(): boolean {
    return this.#active().length > 0;
  }

  /** Aborts all of them, lets `close` end the thread, and forgets them. */
  async abort(close: () => Promise<void> | undefined): Promise<void> {
    const aborted = [...this.#consumers.values()];
    await Promise.all(aborted.map((consumer) => consumer.abort()));
    await close();
    for (const consumer of aborted) this.#forget(consumer);
  }

  #forget(consumer: SqliteConsumer): void {
    this.#consumers.delete(consumer.number);
    const ofReceiver = this.#byReceiver.get(consumer.receiver);
    ofReceiver?.delete(consumer);
    if (ofReceiver?.size === 0) this.#byReceiver.delete(consumer.receiver);
  }

  #active(): SqliteConsumer[] {
    return [...this.#consumers.values()].filter(({ stopped }) => !stopped);
  }
}
