import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout } from "node:timers";
import type {
  Added,
  Arrival,
  Consumer,
  Counts,
  Entry,
  EntryDetails,
  Inbox,
  InboxHealth,
  InboxQuery,
  Load,
  NewDelivery,
  Policy,
  ReleaseQuery,
  ReporthookError,
  Stage,
  Summary,
  SummaryQuery,
  Work,
} from "@reporthook/core";
import { describe, onlyKnown, type RetentionOptions, retentionOf } from "@reporthook/core/store";
import { loadDriver } from "./database/driver.ts";
import { LaneConsumer, type Source } from "./main-thread/consumer.ts";
import { checkThread } from "./main-thread/spawn.ts";
import { Connection } from "./main-thread/thread-client.ts";
import { countsOf, loadOf, none } from "./protocol/kinds.ts";
import {
  atOnce,
  type HandedOut,
  type LaneState,
  type Numbers,
  type Pruned,
  type Released,
  type ThreadOptions,
} from "./protocol/protocol.ts";
import { keptOf } from "./protocol/row.ts";

/** Options of {@link sqliteInbox}. */
export interface SqliteInboxOptions {
  /** A module with SQLite: `"node:sqlite"`, `"libsql"`, `"better-sqlite3"`; the first of the first two that is there. */
  readonly driver?: string | undefined;
  /** How long entries are kept, in milliseconds: handled 7 days, held and dead 30 days. */
  readonly retention?: RetentionOptions | undefined;
  /** Whether a file may be created, or brought to this package's version: true. A tool that only looks says false. */
  readonly migrate?: boolean | undefined;
}

/**
 * An inbox in one SQLite file: what is acknowledged is on the disk. Its engine has a thread of its own, so that no request
 * waits behind the disk. Several processes of one machine may share the file.
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
  readonly #options: ThreadOptions;
  #connection: Connection | null = null;
  #closing: Promise<void> | null = null;
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  #numbers: Numbers = new Map();
  readonly #lanes = new Map<number, LaneConsumer>();
  #lastLane = 0;

  constructor(path: string, options: SqliteInboxOptions) {
    onlyKnown("sqliteInbox", options, ["driver", "retention", "migrate"]);
    const { driver, retention, migrate = true } = options;
    if (typeof path !== "string" || path === "" || path === ":memory:") {
      throw new TypeError(
        "sqliteInbox: path must name a file, like inbox.db; without one, use memoryInbox()",
      );
    }
    if (typeof migrate !== "boolean") {
      throw new TypeError(`sqliteInbox: migrate must be true or false, not ${String(migrate)}`);
    }
    loadDriver(driver);
    checkThread();
    const file = realPath(resolve(path));
    this.#options = {
      ...{ path: file, driver, migrate },
      retention: retentionOf("sqliteInbox", retention),
    };
    this.identity = `sqlite:${file}`;
  }

  async open(): Promise<void> {
    // Who asks for it has mended what was wrong.
    this.#failure = null;
    await this.#connect().opened;
  }

  add(delivery: NewDelivery, arrival: Arrival): Promise<Added> {
    try {
      return this.#connect().add(delivery, arrival);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  consume(stage: Stage, work: Work, policy: Policy): Consumer {
    const lane = ++this.#lastLane;
    const source: Source = {
      owns: () => this.#connect().owns(),
      record: (recorded, kept) => this.#connect().record(recorded, kept),
      tell: () => this.#tell(),
    };
    const consumer = new LaneConsumer(lane, stage, source, work, policy);
    this.#lanes.set(lane, consumer);
    return consumer;
  }

  async get(id: string, receiver?: string): Promise<EntryDetails | null> {
    return (await this.#connect().call({ ask: "get", id, receiver })) as EntryDetails | null;
  }

  async list(query: InboxQuery = {}): Promise<Entry[]> {
    return (await this.#connect().call({ ask: "list", query })) as Entry[];
  }

  async summary(query: SummaryQuery): Promise<Summary> {
    return (await this.#connect().call({ ask: "summary", query })) as Summary;
  }

  async counts(receiver?: string): Promise<Counts> {
    // The answer brings what other processes have changed.
    await this.#connect().call({ ask: "counts" });
    if (receiver !== undefined) return countsOf(this.#numbers.get(receiver));
    return countsOf([...this.#numbers.values()].reduce(sum, none));
  }

  load(receiver: string): Load {
    return loadOf(this.#numbers.get(receiver), this.#connection?.pendingOf(receiver));
  }

  async oldestWaiting(receiver: string): Promise<Date | null> {
    return (await this.#connect().call({ ask: "oldestWaiting", receiver })) as Date | null;
  }

  async release(query: ReleaseQuery): Promise<number> {
    let [all, after] = [0, ""];
    // One that is closed meanwhile is not opened again for the rest.
    const connection = this.#connect();
    for (;;) {
      const step = await connection.call({ ask: "release", query, after });
      const { released, last } = step as Released;
      all += released;
      after = last;
      if ("id" in query || released < atOnce) return all;
    }
  }

  async discard(id: string, receiver?: string): Promise<void> {
    await this.#connect().call({ ask: "discard", id, receiver });
  }

  async prune(now: Date): Promise<number> {
    let deleted = 0;
    const connection = this.#connect();
    for (;;) {
      const step = await connection.call({ ask: "prune", now: now.getTime() });
      const { pruned, more } = step as Pruned;
      deleted += pruned;
      if (!more) return deleted;
    }
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
    // What has begun since then is ended, too.
    if (this.#closing !== null) await this.#closing;
    this.#closing ??= this.#close().finally(() => {
      this.#closing = null;
    });
    await this.#closing;
  }

  async #close(): Promise<void> {
    const consumers = [...this.#lanes.values()];
    await Promise.all(consumers.map((consumer) => consumer.abort()));
    await this.#connection?.close();
    for (const { lane } of consumers) this.#lanes.delete(lane);
  }

  #connect(): Connection {
    if (this.#connection !== null) return this.#connection;
    const failed = this.#failure;
    if (failed !== null && performance.now() - failed.at < reopenMs / 2) throw failed.error;
    this.#connection = new Connection(this.#options, {
      lanes: () => this.#states(),
      counted: (numbers) => {
        this.#numbers = numbers;
      },
      leased: (leased) => {
        for (const one of leased) this.#lanes.get(one.lane)?.hand(one, one.places);
      },
      lost: () => this.#lose(),
      handedOut: (rest, asOf) => this.#handOut(rest, asOf),
      failed: (error) => this.#eachLane((consumer) => consumer.failed(error)),
      ended: (error) => this.#end(error),
    });
    return this.#connection;
  }

  /** How the lanes stand, without those that take nothing up any more. */
  #states(): LaneState[] {
    const states: LaneState[] = [];
    for (const consumer of this.#lanes.values()) {
      if (consumer.stopped) consumer.leaveOut();
      else states.push(consumer.ask());
    }
    return states;
  }

  #handOut({ due, poisoned }: Pick<HandedOut, "due" | "poisoned">, asOf: number | null): void {
    for (const [lane, consumer] of this.#lanes) if (consumer.isOver(asOf)) this.#lanes.delete(lane);
    for (const { lane, at } of due) this.#lanes.get(lane)?.due(at);
    for (const { receiver, row } of poisoned) {
      const kept = keptOf(row, receiver);
      // What has been verified died of its handlers.
      const stage = kept.verification === null ? "verify" : "handle";
      const fits = (one: LaneConsumer): boolean => one.receiver === receiver && one.stage === stage;
      [...this.#lanes.values()].find((one) => fits(one) && !one.stopped)?.poisoned(kept);
    }
  }

  #lose(): void {
    const error = new Error(leasesLost);
    for (const consumer of this.#lanes.values()) {
      if (consumer.running > 0) consumer.failed(error);
      consumer.lose(error, false);
    }
  }

  #end(error: ReporthookError | null): void {
    this.#connection = null;
    this.#failure = error === null ? null : { error, at: performance.now() };
    const reason = error ?? new Error("The inbox was closed");
    for (const consumer of this.#lanes.values()) consumer.lose(reason, true);
    // Whoever works on deliveries, or began to while it was closed, waits for no request to open the file again.
    const again = (): void => this.#eachLane(() => this.#tell());
    if (error === null) again();
    else {
      this.#eachLane((consumer) => consumer.failed(error));
      setTimeout(again, reopenMs).unref();
    }
  }

  #tell(): void {
    try {
      this.#connect().flush();
    } catch {
      // It failed a moment ago: it is tried again, and then told how things stand.
    }
  }

  #eachLane(tell: (consumer: LaneConsumer) => void): void {
    for (const consumer of this.#lanes.values()) if (!consumer.stopped) tell(consumer);
  }
}

const mostLinks = 40;
const leasesLost =
  "Another process has taken over what this one worked on: it did not show for seconds that it is alive";

function sum(one: readonly number[], other: readonly number[]): number[] {
  return none.map((_, kind) => (one[kind] ?? 0) + (other[kind] ?? 0));
}

/** Where the file is, or will be, behind all links: SQLite keeps its log beside that. */
function realPath(path: string, links = 0): string {
  try {
    const place = join(realpathSync(dirname(path)), basename(path));
    const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (!isLink || links === mostLinks) return place;
    return realPath(resolve(dirname(place), readlinkSync(place)), links + 1);
  } catch {
    // The folder is not there: open() will tell.
    return path;
  }
}
