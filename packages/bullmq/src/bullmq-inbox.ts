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
  Stage,
  Summary,
  SummaryQuery,
  Work,
} from "@reporthook/core";
import { ReporthookError } from "@reporthook/core";
import { detailsOf, newKept, notFound, states } from "@reporthook/core/store";
import { discard, prune, release } from "./admin/admin.ts";
import { list, oldestWaiting } from "./admin/query.ts";
import { summary } from "./admin/summary.ts";
import { Receivers } from "./queues/receivers.ts";
import { type Engine, openEngine } from "./server/connection.ts";
import { weaknesses } from "./server/durability-check.ts";
import { explain } from "./server/errors.ts";
import { type BullmqInboxOptions, type Settings, settingsOf } from "./server/settings.ts";
import { type Change, countsOf, Meter, nothing, weightOf } from "./work/backlog.ts";
import { QueueConsumer } from "./work/consumer.ts";

export type { BullmqInboxOptions } from "./server/settings.ts";

/**
 * An inbox in the queues of BullMQ, on Redis or PostgreSQL: any number of processes on any number of machines receive and
 * work. What survives a power cut is up to the settings of the server; those that lose something are named at the start.
 *
 * @throws TypeError for a wrong option
 * @example
 * const receiver = createReceiver({ client, inbox: bullmqInbox({ connection: "redis://127.0.0.1:6379" }) });
 */
export function bullmqInbox(options: BullmqInboxOptions): Inbox {
  return new BullmqInbox(settingsOf(options));
}

const reopenMs = 1_000;

interface Open {
  readonly engine: Engine;
  readonly receivers: Receivers;
  /** Those who wait for an answer. */
  readonly asked: Set<(reason: unknown) => void>;
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
  readonly #settings: Settings;
  readonly #meters = new Map<string, Meter>();
  readonly #consumers = new Set<Consumer>();
  #opening: Promise<Open> | null = null;
  #closing: Promise<void> | null = null;
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  #warned = false;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.identity = `bullmq:${settings.place}:${settings.prefix}`;
  }

  async open(): Promise<void> {
    try {
      // A server that can be read may refuse all the same what is to be stored.
      await this.#ask(({ receivers }) => receivers.registerAgain());
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  async add(delivery: NewDelivery, arrival: Arrival): Promise<Added> {
    const { id, receiver } = delivery;
    const kept = newKept(delivery, arrival, null);
    const key = delivery.key === null ? null : Buffer.from(delivery.key).toString("base64url");
    const weight = weightOf(kept);
    const adding = async (change: Change): Promise<Added> => {
      const { receivers } = await this.#open();
      const queues = await receivers.of(receiver);
      const first = await queues.add({ kept, key, step: 0, losses: 0 });
      if (first !== id) return { status: "duplicate", id: first };
      change(nothing, weight);
      return { status: "added", id };
    };
    try {
      return await this.#meter(receiver).change(adding, weight);
    } catch (error) {
      throw await this.#explained(error);
    }
  }

  consume(stage: Stage, work: Work, policy: Policy): Consumer {
    const { leaseMs, retention } = this.#settings;
    const source = {
      ...{ meter: this.#meter(policy.receiver), leaseMs, handledMs: retention.handledMs },
      // The connection that closes is of no use to work that begins.
      closed: async () => await this.#closing,
      open: async () => {
        const { engine, receivers } = await this.#open();
        return { engine, queues: await receivers.of(policy.receiver) };
      },
    };
    const consumer = new QueueConsumer(stage, source, work, policy);
    this.#consumers.add(consumer);
    return consumer;
  }

  get(id: string, receiver?: string): Promise<EntryDetails | null> {
    return this.#ask(async ({ receivers }) => {
      const found = await receivers.find(id, receiver);
      return found === null ? null : detailsOf(found.carried.kept);
    });
  }

  list(query: InboxQuery = {}): Promise<Entry[]> {
    return this.#ask(async ({ receivers }) => list(await receivers.some(query.receiver), query));
  }

  summary(query: SummaryQuery): Promise<Summary> {
    return this.#ask(async ({ receivers }) => summary(await receivers.some(query.receiver), query));
  }

  counts(receiver?: string): Promise<Counts> {
    return this.#ask(async ({ receivers }) => {
      const all = await Promise.all((await receivers.some(receiver)).map(countsOf));
      const sum = (state: keyof Counts): number =>
        all.reduce((total, counts) => total + counts[state], 0);
      return Object.fromEntries(states.map((state) => [state, sum(state)])) as Counts;
    });
  }

  load(receiver: string): Load {
    return this.#meter(receiver).read();
  }

  oldestWaiting(receiver: string): Promise<Date | null> {
    return this.#ask(({ receivers }) => oldestWaiting(receivers.look(receiver)));
  }

  release(query: ReleaseQuery): Promise<number> {
    const { receiver } = query;
    return this.#ask(({ receivers }) =>
      release(receivers.look(receiver), this.#meter(receiver), query),
    );
  }

  discard(id: string, receiver?: string): Promise<void> {
    return this.#ask(async ({ receivers }) => {
      const found = await receivers.find(id, receiver);
      if (found === null) throw notFound(id);
      const { receiver: name } = found.carried.kept;
      await discard(receivers.look(name), this.#meter(name), found);
    });
  }

  prune(now: Date): Promise<number> {
    return this.#ask(async ({ engine, receivers }) => {
      await receivers.registerAgain();
      const { logger, place, retention } = this.#settings;
      let pruned = 0;
      for (const queues of await receivers.some(undefined)) {
        await engine.forget(queues.of("verify").name, now.getTime());
        pruned += await prune(queues, retention, now.getTime(), (id) =>
          logger.warn(
            { inbox: place, id },
            "A parked delivery is lost: the server no longer has its record.",
          ),
        );
      }
      return pruned;
    });
  }

  async health(): Promise<InboxHealth> {
    try {
      // Reading would go on where writing does not.
      await this.#ask(({ receivers }) => receivers.registerAgain());
      return { ok: true };
    } catch (error) {
      return { ok: false, error: (await this.#explained(error)).message };
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
    const consumers = [...this.#consumers];
    this.#consumers.clear();
    await Promise.all(consumers.map((consumer) => consumer.abort()));
    const opening = this.#opening;
    this.#opening = null;
    this.#meters.clear();
    const open = await opening?.catch(() => null);
    for (const end of open?.asked ?? []) end(closedMeanwhile());
    await open?.engine.close();
  }

  async #explained(error: unknown): Promise<ReporthookError> {
    const open = await this.#opening?.catch(() => null);
    return explain(open?.engine.reasonOf(error) ?? error, this.#settings.place);
  }

  #open(): Promise<Open> {
    const failed = this.#failure;
    if (this.#opening === null && failed !== null && performance.now() - failed.at < reopenMs) {
      return Promise.reject(failed.error);
    }
    this.#opening ??= this.#connect().catch((error: unknown) => {
      this.#opening = null;
      this.#failure = { error, at: performance.now() };
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<Open> {
    const engine = await openEngine(this.#settings);
    this.#failure = null;
    if (!this.#warned) {
      this.#warned = true;
      const { backend, logger, place } = this.#settings;
      for (const { setting, value, message } of await weaknesses(backend, engine)) {
        logger.warn({ inbox: place, [setting]: value }, message);
      }
    }
    return { engine, receivers: new Receivers(engine, this.#settings.prefix), asked: new Set() };
  }

  /** Asks what `close()` ends: on PostgreSQL BullMQ lets it wait for good, on Redis it says nothing of closing. */
  async #ask<T>(what: (open: Open) => Promise<T>): Promise<T> {
    const open = await this.#open();
    return new Promise((resolve, reject) => {
      const done = (): void => void open.asked.delete(reject);
      open.asked.add(reject);
      Promise.resolve(open).then(what).then(resolve, reject).finally(done);
    });
  }

  #meter(receiver: string): Meter {
    const meter =
      this.#meters.get(receiver) ??
      new Meter(async () => (await this.#open()).receivers.look(receiver));
    this.#meters.set(receiver, meter);
    return meter;
  }
}

function closedMeanwhile(): ReporthookError {
  return new ReporthookError("inbox_failed", "The inbox was closed before this was done");
}
