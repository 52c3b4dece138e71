import { setTimeout } from "node:timers";
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
  ReporthookError,
  Stage,
  Summary,
  SummaryQuery,
  TimeMark,
} from "@reporthook/core";
import { describe, PruneCount, ShownChanges } from "@reporthook/core/store";
import { ConsumerGroup } from "./main-thread/consumer-group.ts";
import { inboxFailed } from "./main-thread/inbox-failed.ts";
import { type SqliteInboxOptions, storeOptionsOf } from "./main-thread/options.ts";
import { ThreadClient } from "./main-thread/thread-client.ts";
import { backlogOf, countsByState, type ReceiverCounts, sumOfCounts } from "./protocol/counts.ts";
import type { PruneStep, StepOfAct, StoreOptions } from "./protocol/protocol.ts";

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

const reopenMs = 1_000;

class SqliteInbox implements Inbox {
  readonly identity: string;
  readonly guarantees: Inbox["guarantees"] = {
    durability: "fsync",
    noticesReuse: true,
    clock: "given",
    order: "exact",
    finds: "everything",
  };
  readonly #options: StoreOptions;
  readonly #shown = new ShownChanges();
  readonly #consumers: ConsumerGroup;
  #client: ThreadClient | null = null;
  #closing: Promise<void> | null = null;
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  #counts: ReceiverCounts = new Map();

  constructor(path: string, options: SqliteInboxOptions) {
    this.#options = storeOptionsOf(path, options);
    this.identity = `sqlite:${this.#options.path}`;
    this.#consumers = new ConsumerGroup({
      shown: this.#shown,
      holdsLeases: () => this.#connect().holdsLeases(),
      complete: (recording) => {
        try {
          // Nobody waits for it any more: a closed file is not opened again for it.
          if (recording.isOver) this.#client?.complete(recording);
          else this.#connect().complete(recording);
        } catch (error) {
          recording.reject(error);
        }
      },
      flush: () => this.#flush(),
    });
  }

  async open(): Promise<void> {
    // The caller has removed the cause.
    this.#failure = null;
    await this.#connect().opened;
  }

  add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult> {
    try {
      return this.#connect().add(delivery, arrival);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  consume(stage: Stage, processor: Processor, options: ConsumeOptions): Consumer {
    return this.#consumers.start(stage, processor, options);
  }

  async get(id: string, receiver?: string): Promise<EntryDetails | null> {
    const found = await this.#connect().call({ ask: "get", id, receiver });
    return this.#shown.show(found as EntryDetails | null);
  }

  async list(query: InboxQuery = {}): Promise<Entry[]> {
    const found = (await this.#connect().call({ ask: "list", query })) as Entry[];
    return found.map((entry) => this.#shown.show(entry));
  }

  async summary(query: SummaryQuery): Promise<Summary> {
    return (await this.#connect().call({ ask: "summary", query })) as Summary;
  }

  async counts(receiver?: string): Promise<Counts> {
    // The answer includes changes of other processes.
    await this.#connect().call({ ask: "counts" });
    if (receiver !== undefined) return countsByState(this.#counts.get(receiver));
    return countsByState(sumOfCounts(this.#counts.values()));
  }

  backlog(receiver: string): Backlog {
    return backlogOf(this.#counts.get(receiver), this.#client?.pending.countsOf(receiver));
  }

  async oldestWaiting(receiver: string): Promise<Date | null> {
    return (await this.#connect().call({ ask: "oldestWaiting", receiver })) as Date | null;
  }

  async *act(given: ActQuery): AsyncGenerator<ActStep> {
    const query = { ...given, now: this.#shown.after(given.now) };
    // A client that is closed meanwhile is not opened again for the rest.
    const client = this.#connect();
    for (let after: string | null = ""; after !== null; ) {
      const step = (await client.call({ ask: "act", query, after })) as StepOfAct;
      yield step;
      after = step.last;
    }
  }

  async prune(date: Date, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<Pruned> {
    const now = date.getTime();
    const client = this.#connect();
    if (dryRun) return (await client.call({ ask: "prune", now, dryRun })) as Pruned;
    const all = new PruneCount(this.#options.retention);
    for (;;) {
      const { pruned, more } = (await client.call({ ask: "prune", now, dryRun })) as PruneStep;
      all.addStep(pruned);
      if (!more) return all;
    }
  }

  async keepTime(mark: TimeMark): Promise<TimeMark> {
    return (await this.#connect().call({ ask: "keepTime", mark })) as TimeMark;
  }

  async health(): Promise<InboxHealth> {
    try {
      await this.#connect().call({ ask: "health" });
      return { ok: true };
    } catch (error) {
      return { ok: false, error: describe(error) };
    }
  }

  async close(): Promise<void> {
    // Also ends work that began meanwhile.
    if (this.#closing !== null) await this.#closing;
    this.#closing ??= this.#consumers
      .abort(() => this.#client?.close())
      .finally(() => {
        this.#closing = null;
      });
    await this.#closing;
  }

  #connect(): ThreadClient {
    if (this.#client !== null) return this.#client;
    const failed = this.#failure;
    if (failed !== null && performance.now() - failed.at < reopenMs / 2) throw failed.error;
    try {
      this.#client = new ThreadClient(this.#options, this.#consumers, {
        counted: (counts) => {
          this.#counts = counts;
        },
        ended: (error) => this.#end(error),
      });
    } catch (thrown) {
      const error = inboxFailed(`The inbox's thread can't be started: ${describe(thrown)}`, thrown);
      this.#end(error);
      throw error;
    }
    return this.#client;
  }

  #end(error: ReporthookError | null): void {
    this.#client = null;
    this.#failure = error === null ? null : { error, at: performance.now() };
    this.#consumers.endThread(error ?? new Error("The inbox was closed"));
    // Reopens the file for consumers, also for those that began while it was closed, without waiting for a request.
    const reopen = (): void => {
      if (this.#consumers.isActive) this.#flush();
    };
    if (error === null) {
      reopen();
    } else {
      this.#consumers.failed(error);
      setTimeout(reopen, reopenMs).unref();
    }
  }

  #flush(): void {
    try {
      this.#connect().flush();
    } catch {
      // It failed a moment ago: it is opened again later, and gets the state then.
    }
  }
}
