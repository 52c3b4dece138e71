import { setTimeout } from "node:timers";
import type { Backlog, ConsumeOptions, Processor, ReporthookError, Stage } from "@reporthook/core";
import { Notices, ShownChanges, tryGet } from "@reporthook/core/store";
import { backlogOf, type ChangedTallies, type Tally } from "../protocol/counts.ts";
import {
  type ConsumerState,
  errorOfFailure,
  type Reply,
  type StoreOptions,
} from "../protocol/protocol.ts";
import { SqliteConsumer } from "./consumer.ts";
import { HeldFile } from "./held-file.ts";
import { Pulse } from "./pulse.ts";
import type { ConsumerSource } from "./run.ts";
import { threadNotStarted } from "./spawn.ts";
import { type ConnectionOwner, type Leased, ThreadConnection } from "./thread-connection.ts";

const reopenMs = 1_000;
/** Milliseconds after which the thread is told the time of all receivers, with the next message. */
const staleMs = 1_000;

/** Connects an inbox and its consumers with the writer's thread, and with a new one when that has ended. */
export class ThreadClient implements ConsumerSource, ConnectionOwner {
  readonly options: StoreOptions;
  readonly shown: ShownChanges = new ShownChanges();
  readonly notices: Notices = new Notices();
  /** As a thread has told them: until the next one does, they bound what is let in. */
  readonly #tallies = new Map<string, Tally>();
  #connection: ThreadConnection | null = null;
  #closing: Promise<void> | null = null;
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  readonly #consumers = new Map<number, SqliteConsumer>();
  readonly #byReceiver = new Map<string, Set<SqliteConsumer>>();
  /** The receivers of which a state may be due: looking at all of them with each message takes longer the more there are. */
  readonly #changed = new Set<string>();
  #lastNumber = 0;
  #sentAllAt = Number.NEGATIVE_INFINITY;
  /** When the last message that the thread has answered was sent. */
  #answeredAsOf = Number.NEGATIVE_INFINITY;

  constructor(options: StoreOptions) {
    this.options = options;
  }

  /** Resolves when the file can be written. */
  async open(): Promise<void> {
    // The caller has removed the cause.
    this.#failure = null;
    await this.connect().opened;
  }

  /** The connection with the thread, which is started if needed. Throws for a moment after it has failed. */
  connect(): ThreadConnection {
    if (this.#connection !== null) return this.#connection;
    const failed = this.#failure;
    if (failed !== null && performance.now() - failed.at < reopenMs / 2) throw failed.error;
    const file = new HeldFile(this.options.path, this.options.migrate);
    const pulse = new Pulse();
    try {
      this.#connection = new ThreadConnection(this.options, this, file, pulse);
    } catch (thrown) {
      file.release();
      pulse.end();
      const error = threadNotStarted(thrown);
      this.ended(error);
      throw error;
    }
    return this.#connection;
  }

  backlog(receiver: string): Backlog {
    return backlogOf(this.#tallies.get(receiver), this.#connection?.pending.tallyOf(receiver));
  }

  consume(stage: Stage, processor: Processor, options: ConsumeOptions): SqliteConsumer {
    const number = ++this.#lastNumber;
    const consumer = new SqliteConsumer(number, stage, this, processor, options);
    this.#consumers.set(number, consumer);
    const { receiver } = options;
    this.#byReceiver.set(receiver, (this.#byReceiver.get(receiver) ?? new Set()).add(consumer));
    return consumer;
  }

  noteChange(receiver: string): void {
    this.#changed.add(receiver);
  }

  tell(receiver: string): void {
    this.noteChange(receiver);
    this.#flush();
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

  counted(tallies: ChangedTallies, areAll: boolean): void {
    if (areAll) this.#tallies.clear();
    for (const [receiver, tally] of tallies) this.#tallies.set(receiver, tally);
  }

  answered(reply: Reply, leased: readonly Leased[]): void {
    const { lost, takeovers, asOf, due, poisoned, error } = reply;
    if (lost) this.#loseLeases();
    for (const one of leased) {
      const consumer = this.#consumers.get(one.claimed.consumer);
      if (consumer === undefined) continue;
      this.noteChange(consumer.receiver);
      consumer.lease(one);
    }
    for (const takeover of takeovers) this.notices.tell({ what: "took_over", ...takeover });
    if (asOf !== null) this.#answeredAsOf = asOf;
    for (const { consumer, at } of due) this.#consumers.get(consumer)?.wakeAt(at);
    for (const stored of poisoned) {
      const { id, receiver, stage } = stored;
      const active = this.#active();
      const own = active.find((one) => one.receiver === receiver && one.stage === stage);
      if (own !== undefined) own.poisoned(stored);
      // The process that runs that receiver is not told.
      else active[0]?.failed(new Error(`Delivery ${id} of ${receiver} is dead: poison`));
    }
    if (error !== null) this.#failed(errorOfFailure(error));
  }

  ended(error: ReporthookError | null): void {
    this.#connection = null;
    this.#failure = error === null ? null : { error, at: performance.now() };
    this.#sentAllAt = Number.NEGATIVE_INFINITY;
    const reason = error ?? new Error("The inbox was closed");
    for (const consumer of this.#consumers.values()) consumer.loseLeases(reason, true);
    // Reopens the file for consumers, also for those that began while it was closed, at once.
    const reopen = (): void => {
      if (this.#active().length > 0) this.#flush();
    };
    if (error === null) {
      reopen();
    } else {
      this.#failed(error);
      setTimeout(reopen, reopenMs).unref();
    }
  }

  /** Ends all work, and resolves when the file is closed. */
  async close(): Promise<void> {
    // Also ends work that began meanwhile.
    if (this.#closing !== null) await this.#closing;
    this.#closing ??= this.#end().finally(() => {
      this.#closing = null;
    });
    await this.#closing;
  }

  async #end(): Promise<void> {
    const aborted = [...this.#consumers.values()];
    await Promise.all(aborted.map((consumer) => consumer.abort()));
    await this.#connection?.close();
    for (const consumer of aborted) this.#forget(consumer);
  }

  #flush(): void {
    // If it failed a moment ago, it is opened again later, and gets the state then.
    tryGet(() => this.connect().flush());
  }

  /** Another process has taken the leases: if that is because this one stood still, a notice says so. */
  #loseLeases(): void {
    const isTold = this.notices.stoodStill;
    this.notices.lost();
    const error = new Error(
      "Lease lost: this process missed its heartbeat, or its file was moved, and its deliveries are handed out again",
    );
    for (const consumer of this.#consumers.values()) {
      if (consumer.running > 0 && !isTold) consumer.failed(error);
      consumer.loseLeases(error, false);
    }
  }

  #failed(error: ReporthookError): void {
    for (const consumer of this.#active()) consumer.failed(error);
  }

  #forget(consumer: SqliteConsumer): void {
    this.#consumers.delete(consumer.number);
    const ofReceiver = this.#byReceiver.get(consumer.receiver);
    ofReceiver?.delete(consumer);
    if (ofReceiver?.size === 0) this.#byReceiver.delete(consumer.receiver);
  }

  /** The consumers that have not stopped. */
  #active(): SqliteConsumer[] {
    return [...this.#consumers.values()].filter(({ stopped }) => !stopped);
  }
}
