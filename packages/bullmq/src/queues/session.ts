import { ReporthookError } from "@reporthook/core";
import { type Connection, openConnection } from "../server/connection.ts";
import { DurabilityWatch } from "../server/durability-watch.ts";
import { serverErrorOf } from "../server/errors.ts";
import type { BullmqSettings } from "../server/settings.ts";
import { ActQueue } from "./acts.ts";
import { Receivers } from "./receivers.ts";

/** An open connection, and the queues behind it. */
export interface OpenSession {
  readonly connection: Connection;
  readonly receivers: Receivers;
  readonly acts: ActQueue;
  /** Rejects the callers that wait for an answer. */
  readonly asked: Set<(reason: unknown) => void>;
  isClosed: boolean;
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

  /** Runs a query, as {@link askOn} does. */
  async ask<T>(query: (open: OpenSession) => Promise<T>): Promise<T> {
    return this.askOn(await this.open(), query);
  }

  /** Runs a query, or the next of several: no connection is opened again for the rest. Rejects with an error that can be shown. */
  async askOn<T>(open: OpenSession, query: (open: OpenSession) => Promise<T>): Promise<T> {
    try {
      return await askOn(open, query);
    } catch (error) {
      throw await this.explained(error);
    }
  }

  /** Closes the connection; callers that wait for an answer are rejected. */
  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = null;
    this.#durability.end();
    const open = await opening?.catch(() => null);
    if (!open) return;
    open.isClosed = true;
    for (const end of open.asked) end(closed());
    await open.connection.close();
  }

  /** An error as the inbox gives it: with the server's name and the way out. */
  async explained(error: unknown): Promise<ReporthookError> {
    const open = await this.#opening?.catch(() => null);
    const { place, prefix } = this.#settings;
    return serverErrorOf(open?.connection.reasonOf(error) ?? error, place, prefix);
  }

  async #connect(): Promise<OpenSession> {
    const connection = await openConnection(this.#settings);
    this.#failure = null;
    await this.#durability.watch(connection);
    return {
      connection,
      receivers: new Receivers(connection, this.#settings),
      acts: new ActQueue(connection.queue(`${this.#settings.prefix}-acts`)),
      asked: new Set(),
      isClosed: false,
    };
  }
}

/**
 * Runs a query; `close()` ends it: on PostgreSQL BullMQ would let it wait for good, on Redis its error would not mention closing.
 */
function askOn<T>(open: OpenSession, query: (open: OpenSession) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    if (open.isClosed) throw closed();
    const done = (): void => void open.asked.delete(reject);
    open.asked.add(reject);
    Promise.resolve(open).then(query).then(resolve, reject).finally(done);
  });
}

function closed(): ReporthookError {
  return new ReporthookError("inbox_failed", "The inbox was closed before this was done");
}
