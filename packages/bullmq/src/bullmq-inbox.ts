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
  Stage,
  Summary,
  SummaryQuery,
  TimeMark,
} from "@reporthook/core";
import { detailsOf, Notices, newStoredDelivery, ShownChanges } from "@reporthook/core/store";
import { actInSteps } from "./admin/act.ts";
import { countAll } from "./admin/by-state.ts";
import { queueFacts } from "./admin/facts.ts";
import { pruneAll } from "./admin/prune.ts";
import { list, readErrors } from "./admin/query.ts";
import { summary } from "./admin/summary.ts";
import { BacklogMeter, backlogShareOf, type CountChange, noBacklog } from "./process/backlog.ts";
import { QueueConsumer } from "./process/consumer.ts";
import { Session } from "./queues/session.ts";
import { RedisRequests } from "./requests/redis-requests.ts";
import {
  type BullmqInboxOptions,
  type BullmqSettings,
  bullmqSettingsOf,
} from "./server/settings.ts";

export type { BullmqInboxOptions } from "./server/settings.ts";

/**
 * An inbox in the queues of BullMQ, on Redis or PostgreSQL: any number of processes on any number of machines receive and work.
 * The settings of the server decide whether deliveries survive a power cut; risky ones are logged at the start.
 *
 * @throws TypeError for a wrong option
 * @example
 * const receiver = createReceiver({ client, inbox: bullmqInbox({ connection: "redis://127.0.0.1:6379" }) });
 */
export function bullmqInbox(options: BullmqInboxOptions): Inbox {
  return new BullmqInbox(bullmqSettingsOf(options));
}

class BullmqInbox implements Inbox {
  readonly identity: string;
  readonly guarantees: Inbox["guarantees"] = {
    durability: "server",
    noticesReuse: false,
    clock: "own",
    order: "roughly",
    finds: "parked",
  };
  /** On Redis. */
  readonly requests: RedisRequests | undefined;
  readonly #settings: BullmqSettings;
  readonly #session: Session;
  readonly #meters = new Map<string, BacklogMeter>();
  readonly #notices = new Notices({ isOnServer: true });
  readonly #consumers = new Set<Consumer>();
  readonly #shown = new ShownChanges();
  readonly receivers = (): Promise<string[]> => this.#session.ask((open) => open.receivers.names());
  #closing: Promise<void> | null = null;

  constructor(settings: BullmqSettings) {
    this.#settings = settings;
    this.#session = new Session(settings);
    if (settings.backend === "redis") {
      this.requests = new RedisRequests(this.#session, settings.prefix);
    }
    this.identity = `bullmq:${settings.address}:${settings.prefix}`;
  }

  async open(): Promise<void> {
    // A readable server may still refuse writes.
    await this.#session.ask(async ({ receivers }) => {
      await receivers.registerAgain();
      await receivers.keepRetention();
    });
  }

  async add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult> {
    const { id, receiver } = delivery;
    const stored = newStoredDelivery(delivery, arrival, null);
    stored.changedAt = this.#shown.after(stored.changedAt);
    const key = delivery.key === null ? null : Buffer.from(delivery.key).toString("base64url");
    const weight = backlogShareOf(stored);
    const adding = (change: CountChange): Promise<AddResult> =>
      this.#session.ask(async ({ receivers }) => {
        const queues = await receivers.of(receiver);
        const first = await queues.add({ stored, key, hop: 0, stalls: 0 });
        if (first !== id) return { status: "duplicate", id: first };
        change(noBacklog, weight);
        return { status: "added", id };
      });
    return this.#meter(receiver).change(adding, weight);
  }

  consume(stage: Stage, processor: Processor, options: ConsumeOptions): Consumer {
    const { leaseMs } = this.#settings;
    const parts = {
      meter: this.#meter(options.receiver),
      notices: this.#notices,
      leaseMs,
      shown: this.#shown,
      // New work can't use a connection that is closing.
      closed: async () => await this.#closing,
      open: () =>
        this.#session.ask(async ({ connection, receivers }) => {
          return { connection, queues: await receivers.of(options.receiver) };
        }),
    };
    const consumer = new QueueConsumer(stage, parts, processor, options);
    this.#consumers.add(consumer);
    return consumer;
  }

  get(id: string, receiver?: string): Promise<EntryDetails | null> {
    return this.#session.ask(async ({ receivers }) => {
      const found = await receivers.find(id, receiver);
      if (found === null) return null;
      return this.#shown.show(detailsOf(found.jobState.stored, await receivers.wallOffset()));
    });
  }

  list(query: InboxQuery = {}): Promise<Entry[]> {
    return this.#session.ask(async ({ receivers }) => {
      const wallOffset = await receivers.wallOffset();
      const entries = await list(await receivers.some(query.receiver), query, wallOffset);
      return entries.map((entry) => this.#shown.show(entry));
    });
  }

  summary(query: SummaryQuery): Promise<Summary> {
    return this.#session.ask(async ({ receivers }) =>
      summary(await receivers.some(query.receiver), query),
    );
  }

  counts(receiver?: string): Promise<Counts> {
    return this.#session.ask(async ({ receivers }) => countAll(await receivers.some(receiver)));
  }

  backlog(receiver: string): Backlog {
    return this.#meter(receiver).read();
  }

  facts(receiver: string): Promise<Facts> {
    return this.#session.ask(({ receivers }) => queueFacts(receivers, receiver));
  }

  notes(receiver: string, prefix: string): Promise<Notes> {
    return this.#session.ask(({ receivers }) => receivers.notes.find(receiver, prefix));
  }

  keepNotes(receiver: string, notes: Record<string, string | null>): Promise<void> {
    return this.#session.ask(({ receivers }) => receivers.keepNotes(receiver, notes));
  }

  act(given: ActQuery): AsyncGenerator<ActStep> {
    const query = { ...given, now: this.#shown.after(given.now) };
    return actInSteps(this.#session, (receiver) => this.#meter(receiver), query);
  }

  errors(query: ErrorsQuery = {}): Promise<ErrorGroup[]> {
    return this.#session.ask(async ({ receivers }) =>
      readErrors(await receivers.some(query.receiver), query),
    );
  }

  acts(query: ActsQuery = {}): Promise<LoggedAct[]> {
    return this.#session.ask(({ acts }) => acts.list(query));
  }

  prune(date: Date, { dryRun = false }: { readonly dryRun?: boolean } = {}): Promise<Pruned> {
    return this.#session.ask((open) =>
      pruneAll(open, this.#settings, date.getTime(), dryRun, this.requests),
    );
  }

  keepTime(mark: TimeMark): Promise<TimeMark> {
    return this.#session.ask(({ receivers }) => receivers.keepTime(mark));
  }

  async health(): Promise<InboxHealth> {
    try {
      // A server that refuses writes can still be read.
      await this.#session.ask(({ receivers }) => receivers.registerAgain());
      return { ok: true };
    } catch (error) {
      return { ok: false, error: (error as Error).message };
    }
  }

  async close(): Promise<void> {
    // Also ends consumers that began meanwhile.
    if (this.#closing !== null) await this.#closing;
    this.#closing ??= this.#close().finally(() => {
      this.#closing = null;
    });
    await this.#closing;
  }

  async #close(): Promise<void> {
    const consumers = [...this.#consumers];
    this.#consumers.clear();
    await Promise.all(consumers.map((consumer) => consumer.abort()));
    this.#meters.clear();
    await this.#session.close();
  }

  #meter(receiver: string): BacklogMeter {
    const meter =
      this.#meters.get(receiver) ??
      new BacklogMeter(async () => (await this.#session.open()).receivers.queuesOf(receiver));
    this.#meters.set(receiver, meter);
    return meter;
  }
}
