import type {
  ActQuery,
  ActStep,
  ActsQuery,
  AddResult,
  Arrival,
  Backlog,
  ConsumeOptions,
  Consumer,
  Counts,
  Entry,
  EntryDetails,
  EraseQuery,
  ErrorGroup,
  ErrorsQuery,
  Facts,
  Inbox,
  InboxHealth,
  InboxQuery,
  LoggedAct,
  NewDelivery,
  Notes,
  Processor,
  Pruned,
  RequestStore,
  Stage,
  Summary,
  SummaryQuery,
  TimeMark,
} from "@reporthook/core";
import { describe, ErrorGroups, PruneCount, type SomeOfGroup } from "@reporthook/core/store";
import { copyDatabase } from "./database/backup.ts";
import { loadFound } from "./database/driver.ts";
import { type SqliteInboxOptions, storeOptionsOf } from "./main-thread/options.ts";
import { ThreadClient } from "./main-thread/thread-client.ts";
import { type CountsByKind, countsByState, requestCounts, sumOfCounts } from "./protocol/counts.ts";
import type { StoreOptions, ThreadCall } from "./protocol/protocol.ts";
import type {
  ActPosition,
  CallStep,
  ErasePosition,
  ErrorsPosition,
  KeptNotes,
  PruneStep,
} from "./protocol/steps.ts";

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
  readonly #store: StoreOptions;
  readonly requests: RequestStore = {
    add: (...given) => this.#ask({ ask: "requests", method: "add", given }),
    get: (...given) => this.#ask({ ask: "requests", method: "get", given }),
    replace: (...given) => this.#ask({ ask: "requests", method: "replace", given }),
    list: (...given) => this.#ask({ ask: "requests", method: "list", given }),
    due: (...given) => this.#ask({ ask: "requests", method: "due", given }),
    counts: async (receiver) => requestCounts(await this.#countsOf(receiver)),
  };
  readonly #client: ThreadClient;

  constructor(path: string, options: SqliteInboxOptions) {
    const store = storeOptionsOf(path, options);
    this.identity = `sqlite:${store.path}`;
    this.#store = store;
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
    const found = await this.#ask<EntryDetails | null>({ ask: "get", id, receiver });
    return this.#client.shown.show(found);
  }

  async list(query: InboxQuery = {}): Promise<Entry[]> {
    const all: Entry[] = [];
    let left = Math.min(Math.max(0, Math.floor(query.limit ?? 100) || 0), Number.MAX_SAFE_INTEGER);
    const steps = this.#steps<{ entries: Entry[] }, string>((from) => ({
      ...{ ask: "list", most: left },
      query: from === null ? query : { ...query, after: from },
    }));
    for await (const { entries } of steps) {
      for (const entry of entries) all.push(this.#client.shown.show(entry));
      left -= entries.length;
      if (left === 0) break;
    }
    return all;
  }

  summary(query: SummaryQuery): Promise<Summary> {
    return this.#ask({ ask: "summary", query });
  }

  async counts(receiver?: string): Promise<Counts> {
    return countsByState(await this.#countsOf(receiver));
  }

  receivers(): Promise<string[]> {
    return this.#ask({ ask: "receivers" });
  }

  backlog(receiver: string): Backlog {
    return this.#client.backlog(receiver);
  }

  facts(receiver: string): Promise<Facts> {
    return this.#ask({ ask: "facts", receiver });
  }

  notes(receiver: string, prefix: string): Promise<Notes> {
    return this.#ask({ ask: "notes", receiver, prefix });
  }

  keepNotes(receiver: string, notes: KeptNotes): Promise<void> {
    return this.#ask({ ask: "keepNotes", receiver, notes });
  }

  act(given: ActQuery): AsyncGenerator<ActStep> {
    const query = { ...given, now: this.#client.shown.after(given.now) };
    return this.#steps<ActStep, ActPosition>((from) => ({ ask: "act", query, from }));
  }

  async errors(query: ErrorsQuery = {}): Promise<ErrorGroup[]> {
    const all = new ErrorGroups();
    const steps = this.#steps<{ groups: SomeOfGroup[] }, ErrorsPosition>((from) => ({
      ask: "errors",
      query,
      from,
    }));
    for await (const { groups, next } of steps) {
      for (const some of groups) all.add(some);
      all.bound(next?.error ?? "");
    }
    return all.list();
  }

  async erase(given: EraseQuery): Promise<number> {
    const query = { ...given, now: this.#client.shown.after(given.now) };
    const steps = this.#steps<{ count: number }, ErasePosition>((from) => ({
      ask: "erase",
      query,
      from,
    }));
    let all = 0;
    for await (const { count } of steps) all += count;
    return all;
  }

  async backup(file: string, { overwrite = false } = {}): Promise<void> {
    copyDatabase(loadFound(this.#store.driver), this.#store.path, file, overwrite);
  }

  acts(query: ActsQuery = {}): Promise<LoggedAct[]> {
    return this.#ask({ ask: "acts", query });
  }

  async prune(date: Date, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<Pruned> {
    const now = date.getTime();
    const connection = this.#client.connect();
    if (dryRun) return connection.call({ ask: "foresee", now });
    const all = new PruneCount(this.#store.retention);
    for (;;) {
      const { pruned, more } = await connection.call<PruneStep>({ ask: "prune", now });
      all.addStep(pruned);
      if (!more) return all;
    }
  }

  keepTime(mark: TimeMark): Promise<TimeMark> {
    return this.#ask({ ask: "keepTime", mark });
  }

  async health(): Promise<InboxHealth> {
    try {
      await this.#ask({ ask: "health" });
      return { ok: true };
    } catch (error) {
      return { ok: false, error: describe(error) };
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** The steps of a call, each from where the last one ended. */
  async *#steps<Result, Position>(
    callFrom: (from: Position | null) => ThreadCall,
  ): AsyncGenerator<CallStep<Result, Position>> {
    // A connection that is closed meanwhile is not opened again for the rest.
    const connection = this.#client.connect();
    let from: Position | null = null;
    do {
      const step: CallStep<Result, Position> = await connection.call(callFrom(from));
      yield step;
      from = step.next;
    } while (from !== null);
  }

  async #ask<Answer>(call: ThreadCall): Promise<Answer> {
    return this.#client.connect().call(call);
  }

  async #countsOf(receiver: string | undefined): Promise<CountsByKind | undefined> {
    // The answer includes changes of other processes.
    await this.#ask({ ask: "counts" });
    const { counts } = this.#client;
    return receiver === undefined ? sumOfCounts(counts.values()) : counts.get(receiver);
  }
}
