import type {
  ActQuery,
  ActStep,
  AddResult,
  Arrival,
  Entry,
  EraseQuery,
  ErrorGroup,
  ErrorsQuery,
  Inbox,
  InboxHealth,
  InboxQuery,
  NewDelivery,
  Pruned,
  RequestStore,
} from "@reporthook/core";
import { describe, ErrorGroups, PruneCount } from "@reporthook/core/store";
import { copyDatabase } from "./database/backup.ts";
import { loadFound } from "./database/driver.ts";
import { type SqliteInboxOptions, storeOptionsOf } from "./main-thread/options.ts";
import { ThreadClient } from "./main-thread/thread-client.ts";
import type { Operations, Stepped } from "./protocol/operations.ts";

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
    add: (request) => this.#ask("requests.add", request),
    get: (...given) => this.#ask("requests.get", ...given),
    replace: (...given) => this.#ask("requests.replace", ...given),
    list: (query) => this.#ask("requests.list", query),
    due: (...given) => this.#ask("requests.due", ...given),
    counts: (receiver) => this.#ask("requests.counts", receiver),
  };
  readonly open: Inbox["open"] = () => this.#client.open();
  readonly close: Inbox["close"] = () => this.#client.close();
  readonly consume: Inbox["consume"] = (...given) => this.#client.consume(...given);
  readonly backlog: Inbox["backlog"] = (receiver) => this.#client.backlog(receiver);
  readonly get: Inbox["get"] = async (...given) =>
    this.#client.shown.show(await this.#ask("get", ...given));
  readonly counts: Inbox["counts"] = (receiver) => this.#ask("counts", receiver);
  readonly receivers = (): Promise<readonly string[]> => this.#ask("receivers");
  readonly summary: Inbox["summary"] = (query) => this.#ask("summary", query);
  readonly facts: Inbox["facts"] = (receiver) => this.#ask("facts", receiver);
  readonly notes: Inbox["notes"] = (...given) => this.#ask("notes", ...given);
  readonly keepNotes: Inbox["keepNotes"] = (...given) => this.#ask("keepNotes", ...given);
  readonly acts: Inbox["acts"] = (query) => this.#ask("acts", query);
  readonly keepTime: NonNullable<Inbox["keepTime"]> = (mark) => this.#ask("keepTime", mark);
  readonly #client: ThreadClient;

  constructor(path: string, options: SqliteInboxOptions) {
    this.#client = new ThreadClient(storeOptionsOf(path, options));
    this.identity = `sqlite:${this.#client.options.path}`;
  }

  add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult> {
    try {
      return this.#client.connect().add(delivery, arrival);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async list(query: InboxQuery = {}): Promise<Entry[]> {
    const all: Entry[] = [];
    for await (const { entries } of this.#steps("list", query)) {
      for (const entry of entries) all.push(this.#client.shown.show(entry));
    }
    return all;
  }

  act(given: ActQuery): AsyncGenerator<ActStep> {
    const query = { ...given, now: this.#client.shown.after(given.now) };
    return this.#steps("act", query);
  }

  async errors(query: ErrorsQuery = {}): Promise<ErrorGroup[]> {
    const all = new ErrorGroups();
    for await (const { groups, next } of this.#steps("errors", query)) {
      for (const some of groups) all.add(some);
      all.bound(next?.error ?? "");
    }
    return all.list();
  }

  async erase(given: EraseQuery): Promise<number> {
    const query = { ...given, now: this.#client.shown.after(given.now) };
    let all = 0;
    for await (const { count } of this.#steps("erase", query)) all += count;
    return all;
  }

  async backup(file: string, { overwrite = false } = {}): Promise<void> {
    const { driver, path } = this.#client.options;
    copyDatabase(loadFound(driver), path, file, overwrite);
  }

  async prune(date: Date, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<Pruned> {
    const now = date.getTime();
    if (dryRun) return this.#ask("foresee", now);
    const all = new PruneCount(this.#client.options.retention);
    for await (const { pruned } of this.#steps("prune", now)) all.addStep(pruned);
    return all;
  }

  async health(): Promise<InboxHealth> {
    try {
      await this.#ask("health");
      return { ok: true };
    } catch (error) {
      return { ok: false, error: describe(error) };
    }
  }

  /** The steps of an operation, each from where the last one ended. */
  async *#steps<Name extends Stepped>(
    ask: Name,
    query: Parameters<Operations[Name]>[0],
  ): AsyncGenerator<ReturnType<Operations[Name]>> {
    // A connection that is closed meanwhile is not opened again for the rest.
    const connection = this.#client.connect();
    let from: unknown = null;
    do {
      const step = await connection.ask(ask, ...([query, from] as Parameters<Operations[Name]>));
      yield step;
      from = step.next;
    } while (from !== null);
  }

  async #ask<Name extends keyof Operations>(
    ask: Name,
    ...given: Parameters<Operations[Name]>
  ): Promise<ReturnType<Operations[Name]>> {
    return this.#client.connect().ask(ask, ...given);
  }
}
