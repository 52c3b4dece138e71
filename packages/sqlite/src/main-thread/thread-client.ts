import { setTimeout } from "node:timers";
import type { Backlog, ReporthookError } from "@reporthook/core";
import { ShownChanges } from "@reporthook/core/store";
import { backlogOf, type Tally } from "../protocol/counts.ts";
import type { StoreOptions } from "../protocol/protocol.ts";
import { ConsumerGroup } from "./consumer-group.ts";
import type { ConsumerSource } from "./recording.ts";
import { threadNotStarted } from "./spawn.ts";
import { ThreadConnection } from "./thread-connection.ts";

const reopenMs = 1_000;

/** Connects an inbox and its consumers with the writer's thread, and with a new one when that has ended. */
export class ThreadClient implements ConsumerSource {
  readonly options: StoreOptions;
  readonly shown: ShownChanges = new ShownChanges();
  readonly consumers: ConsumerGroup = new ConsumerGroup(this);
  /** As in the last message of a thread. */
  tallies: Map<string, Tally> = new Map();
  #connection: ThreadConnection | null = null;
  #closing: Promise<void> | null = null;
  #failure: { readonly error: unknown; readonly at: number } | null = null;

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
    try {
      this.#connection = new ThreadConnection(this.options, this);
    } catch (thrown) {
      const error = threadNotStarted(thrown);
      this.ended(error);
      throw error;
    }
    return this.#connection;
  }

  backlog(receiver: string): Backlog {
    return backlogOf(this.tallies.get(receiver), this.#connection?.pending.tallyOf(receiver));
  }

  tell(receiver: string): void {
    this.consumers.noteChange(receiver);
    this.#flush();
  }

  #flush(): void {
    try {
      this.connect().flush();
    } catch {
      // It failed a moment ago: it is opened again later, and gets the state then.
    }
  }

  /** Ends all work, and resolves when the file is closed. */
  async close(): Promise<void> {
    // Also ends work that began meanwhile.
    if (this.#closing !== null) await this.#closing;
    this.#closing ??= this.consumers
      .abort(() => this.#connection?.close())
      .finally(() => {
        this.#closing = null;
      });
    await this.#closing;
  }

  /** The thread has ended; `error` if that was unexpected. */
  ended(error: ReporthookError | null): void {
    this.#connection = null;
    this.#failure = error === null ? null : { error, at: performance.now() };
    this.consumers.endThread(error ?? new Error("The inbox was closed"));
    // Reopens the file for consumers, also for those that began while it was closed, at once.
    const reopen = (): void => {
      if (this.consumers.isActive) this.#flush();
    };
    if (error === null) {
      reopen();
    } else {
      this.consumers.failed(error);
      setTimeout(reopen, reopenMs).unref();
    }
  }
}
