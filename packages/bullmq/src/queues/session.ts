import { ReporthookError } from "@reporthook/core";
import { type Connection, openConnection } from "../server/connection.ts";
import { DurabilityWatch } from "../server/durability-watch.ts";
import type { BullmqSettings } from "../server/settings.ts";
import { ActQueue } from "./acts.ts";
import { Receivers } from "./receivers.ts";

/** An open connection, and the queues behind it. */
export class OpenSession {
  readonly connection: Connection;
  readonly receivers: Receivers;
  readonly acts: ActQueue;
  /** Rejects the callers that wait for an answer. */
  readonly #asked = new Set<(reason: unknown) => void>();
  #isClosed = false;

  constructor(connection: Connection, settings: BullmqSettings) {
    this.connection = connection;
    this.receivers = new Receivers(connection, settings);
    this.acts = new ActQueue(connection.queue(`${settings.prefix}-acts`));
  }

  /**
   * Runs a query; rejects with an error that can be shown. `close()` ends it: on PostgreSQL BullMQ would let it wait for good, on
   * Redis its error would not mention closing.
   */
  ask<T>(query: (open: OpenSession) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw closed();
      const done = (): void => void this.#asked.delete(reject);
      this.#asked.add(reject);
      const failed = (error: unknown): void => reject(this.connection.explained(error));
      Promise.resolve(this).then(query).then(resolve, failed).finally(done);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const end of this.#asked) end(closed());
    await this.connection.close();
  }
}

const reopenMs = 1_000;

/** The connection of an inbox to its server: opened when it is needed, after a failure at most once a second. */
export class Session {
  readonly #settings: BullmqSettings;
  #opening: Promise<OpenSession> | null = null;
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  readonly #durability: DurabilityWatch;

  constructor(settings: BullmqSettings) {
    this.#settings = settings;
    this.#durability = new DurabilityWatch(settings);
  }

  /** The open connection. Rejects while the server can't be reached. */
  open(): Promise<OpenSession> {
    const failed = this.#failure;
    if (this.#opening === null && failed !== null && performance.now() - failed.at < reopenMs) {
      return Promise.reject(failed.error);
    }
    if (this.#opening !== null) return this.#opening;
    const opening = this.#connect().catch((error: unknown) => {
      // It may be closed by now, and opened again.
      if (this.#opening === opening) this.#opening = null;
      this.#failure = { error, at: performance.now() };
      throw error;
    });
    this.#opening = opening;
    return opening;
  }

  /** Runs a query on the open connection. */
  async ask<T>(query: (open: OpenSession) => Promise<T>): Promise<T> {
    return (await this.open()).ask(query);
  }

  /** Closes the connection; callers that wait for an answer are rejected. */
  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = null;
    this.#durability.end();
    const open = await opening?.catch(() => null);
    await open?.close();
  }

  async #connect(): Promise<OpenSession> {
    const connection = await openConnection(this.#settings);
    this.#failure = null;
    await this.#durability.watch(connection);
    return new OpenSession(connection, this.#settings);
  }
}

function closed(): ReporthookError {
  return new ReporthookError("inbox_failed", "The inbox was closed before this was done");
}
