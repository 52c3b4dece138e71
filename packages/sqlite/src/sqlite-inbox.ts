import type {
  ActQuery,
  ActStep,
  AddResult,
  Arrival,
  Backlog,
  ConsumeOptions,
  Consumer,
  Counts,
  Entry,
  EntryDetails,
  Inbox,
  InboxHealth,
  InboxQuery,
  NewDelivery,
  Processor,
  Pruned,
  RequestStore,
  Stage,
  Summary,
  SummaryQuery,
  TimeMark,
} from "@reporthook/core";
import { describe, PruneCount, type Retention } from "@reporthook/core/store";
import { type SqliteInboxOptions, storeOptionsOf } from "./main-thread/options.ts";
import { ThreadClient } from "./main-thread/thread-client.ts";
import { type CountsByKind, countsByState, requestCounts, sumOfCounts } from "./protocol/counts.ts";
import type { PruneStep, RequestCall, StepOfAct } from "./protocol/protocol.ts";

export type { SqliteInboxOptions } from "./main-thread/options.ts";

/**
 * An inbox in one SQLite file: acknowledged deliveries are on the disk. It writes in a separate thread, so that requests do not
 * block on the disk. Several processes of one machine may share the file.
 *
 * @throws TypeError for a wrong option; ReporthookError `inbox_failed` that names what to install when there is no SQLite
 * @example
 * const receiver = createReceiver({ client, inbox: sqliteInbox("inbox.db") });
 */
export function sqliteInbox(path: string, options: SqliteInboxOptions = {}): Inbox {
  return new SqliteInbox(path, options);
}

class SqliteInbox implements Inbox {
  readonly identity: string;
  readonly guarantees: Inbox["guarantees"] = {
    durability: "fsync",
    noticesReuse: true,
    clock: "given",
    order: "exact",
    finds: "everything",
  };
  readonly requests: RequestStore = {
    add: (request) => this.#ask({ do: "add", request }),
    get: (id, receiver) => this.#ask({ do: "get", id, receiver }),
    replace: (read, next) => this.#ask({ do: "replace", read, next }),
    list: (query) => this.#ask({ do: "list", query }),
    due: (receiver, until, limit) => this.#ask({ do: "due", receiver, until, limit }),
    counts: async (receiver) => requestCounts(await this.#countsOf(receiver)),
  };
  readonly #retention: Retention;
  readonly #client: ThreadClient;

  constructor(path: string, options: SqliteInboxOptions) {
    const store = storeOptionsOf(path, options);
    this.identity = `sqlite:${store.path}`;
    this.#retention = store.retention;
    this.#client = new ThreadClient(store);
  }

  open(): Promise<void> {
    return this.#client.open();
  }

  add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult> {
    try {
      return this.#client.connect().add(delivery, arrival);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  consume(stage: Stage, processor: Processor, options: ConsumeOptions): Consumer {
    return this.#client.consumers.start(stage, processor, options);
  }

  async get(id: string, receiver?: string): Promise<EntryDetails | null> {
    const found = await this.#client.connect().call({ ask: "get", id, receiver });
    return this.#client.shown.show(found as EntryDetails | null);
  }

  async list(query: InboxQuery = {}): Promise<Entry[]> {
    const found = (await this.#client.connect().call({ ask: "list", query })) as Entry[];
    return found.map((entry) => this.#client.shown.show(entry));
  }

  async summary(query: SummaryQuery): Promise<Summary> {
    return (await this.#client.connect().call({ ask: "summary", query })) as Summary;
  }

  async counts(receiver?: string): Promise<Counts> {
    return countsByState(await this.#countsOf(receiver));
  }

  backlog(receiver: string): Backlog {
    return this.#client.backlog(receiver);
  }

  async oldestWaiting(receiver: string): Promise<Date | null> {
    return (await this.#client.connect().call({ ask: "oldestWaiting", receiver })) as Date | null;
  }

  async *act(given: ActQuery): AsyncGenerator<ActStep> {
    const query = { ...given, now: this.#client.shown.after(given.now) };
    // A connection that is closed meanwhile is not opened again for the rest.
    const connection = this.#client.connect();
    for (let after: string | null = ""; after !== null; ) {
      const step = (await connection.call({ ask: "act", query, after })) as StepOfAct;
      yield step;
      after = step.last;
    }
  }

  async prune(date: Date, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<Pruned> {
    const now = date.getTime();
    const connection = this.#client.connect();
    if (dryRun) return (await connection.call({ ask: "prune", now, dryRun })) as Pruned;
    const all = new PruneCount(this.#retention);
    for (;;) {
      const { pruned, more } = (await connection.call({ ask: "prune", now, dryRun })) as PruneStep;
      all.addStep(pruned);
      if (!more) return all;
    }
  }

  async keepTime(mark: TimeMark): Promise<TimeMark> {
    return (await this.#client.connect().call({ ask: "keepTime", mark })) as TimeMark;
  }

  async health(): Promise<InboxHealth> {
    try {
      await this.#client.connect().call({ ask: "health" });
      return { ok: true };
    } catch (error) {
      return { ok: false, error: describe(error) };
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #ask<T>(call: RequestCall): Promise<T> {
    return (await this.#client.connect().call({ ask: "requests", call })) as T;
  }

  async #countsOf(receiver: string | undefined): Promise<CountsByKind | undefined> {
    // The answer includes changes of other processes.
    await this.#client.connect().call({ ask: "counts" });
    const { counts } = this.#client;
    return receiver === undefined ? sumOfCounts(counts.values()) : counts.get(receiver);
  }
}
