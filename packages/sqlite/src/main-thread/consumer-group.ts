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

/** The consumers of one inbox, by number. */
export class ConsumerGroup {
  readonly #source: ConsumerSource;
  readonly #consumers = new Map<number, SqliteConsumer>();
  #lastNumber = 0;

  constructor(source: ConsumerSource) {
    this.#source = source;
  }

  start(stage: Stage, processor: Processor, options: ConsumeOptions): SqliteConsumer {
    const number = ++this.#lastNumber;
    const consumer = new SqliteConsumer(number, stage, this.#source, processor, options);
    this.#consumers.set(number, consumer);
    return consumer;
  }

  /** The states to send to the thread, of the consumers for which one is due. */
  takeStates(): ConsumerState[] {
    const states: ConsumerState[] = [];
    const at = performance.now();
    for (const consumer of this.#consumers.values()) {
      const state = consumer.takeState(at);
      if (state !== null) states.push(state);
    }
    return states;
  }

  lease(consumer: number, leased: Leased, cost: number): void {
    this.#consumers.get(consumer)?.lease(leased, cost);
  }

  /** Handles the parts of a reply that consumers wait for, or have to tell. */
  answered({ due, poisoned, takeovers, asOf }: Reply): void {
    for (const takeover of takeovers) this.notice({ what: "took_over", ...takeover });
    for (const [number, { retiredAt, running }] of this.#consumers) {
      // The thread has answered the message that told it: no more deliveries can come.
      if (asOf !== null && asOf >= retiredAt && running === 0) this.#consumers.delete(number);
    }
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
    const aborted = [...this.#consumers];
    await Promise.all(aborted.map(([, consumer]) => consumer.abort()));
    await close();
    for (const [number] of aborted) this.#consumers.delete(number);
  }

  #active(): SqliteConsumer[] {
    return [...this.#consumers.values()].filter(({ stopped }) => !stopped);
  }
}
