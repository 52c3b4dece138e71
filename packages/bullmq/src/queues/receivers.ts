import type { TimeMark } from "@reporthook/core";
import { laterMark, noMark, type Retention } from "@reporthook/core/store";
import type { Queue } from "bullmq";
import { bullmqMessages } from "../log-messages.ts";
import type { Connection } from "../server/connection.ts";
import type { BullmqSettings } from "../server/settings.ts";
import type { Found } from "./found.ts";
import { QueuedNotes } from "./notes.ts";
import { ReceiverQueues } from "./queues.ts";

/** The receivers of an inbox: a queue without a consumer has a job for each name, and one for the time and the retention of all. */
export class Receivers {
  readonly #connection: Connection;
  readonly #settings: BullmqSettings;
  readonly #names: Queue;
  readonly notes: QueuedNotes;
  readonly #queues = new Map<string, ReceiverQueues>();
  readonly #registered = new Map<string, Promise<ReceiverQueues>>();
  /** The names that the server has had. */
  readonly #kept = new Set<string>();

  constructor(connection: Connection, settings: BullmqSettings) {
    const { prefix } = settings;
    this.#connection = connection;
    this.#settings = settings;
    this.#names = connection.queue(`${prefix}-receivers`);
    this.notes = new QueuedNotes(connection.queue(`${prefix}-notes`));
  }

  /** The queues of a receiver; registers its name for all processes. */
  of(receiver: string): Promise<ReceiverQueues> {
    const known = this.#registered.get(receiver);
    if (known !== undefined) return known;
    const registering = this.#register(receiver).then(() => this.queuesOf(receiver));
    this.#registered.set(receiver, registering);
    registering.catch(() => this.#registered.delete(receiver));
    return registering;
  }

  /** Keeps the notes of a receiver; registers its name. */
  async keepNotes(receiver: string, notes: Readonly<Record<string, string | null>>): Promise<void> {
    await this.of(receiver);
    await this.notes.keep(receiver, notes);
  }

  /**
   * Registers the receivers of this process again, and warns if the server has lost one. Rejects if nothing can be stored, also
   * without receivers: then it adds a job for none.
   */
  async registerAgain(): Promise<void> {
    const kept = [...this.#kept];
    const there = await this.names();
    const known = [...this.#registered.keys()].map(async (receiver) => {
      // If only its position was lost, it could not be added.
      if (!there.includes(receiver)) await this.#names.remove(`name-${receiver}`);
      await this.#register(receiver);
    });
    await Promise.all([this.#names.add("probe", {}, { jobId: "probe", priority: 1 }), ...known]);
    const lost = kept.filter((receiver) => !there.includes(receiver));
    const { logger, address } = this.#settings;
    if (lost.length > 0) logger.warn({ inbox: address, receivers: lost }, bullmqMessages.inboxLost);
  }

  /** Keeps a mark of lived time unless there is a later one; resolves to what is kept. */
  async keepTime(mark: TimeMark): Promise<TimeMark> {
    const job = await this.#names.getJob(timeId);
    const kept = laterMark(markOf(job?.data), mark);
    if (mark.livedAt === 0) return kept;
    if (job === undefined) await this.#names.add(timeId, kept, { jobId: timeId, priority: 1 });
    else await job.updateData(kept);
    return kept;
  }

  /** Milliseconds to add to lived time for people. */
  async wallOffset(): Promise<number> {
    const { livedAt, wallAt } = await this.keepTime(noMark);
    return wallAt - livedAt;
  }

  async #register(receiver: string): Promise<void> {
    // A job's id must not be a number, which a receiver's name may be.
    await this.#names.add("receiver", { receiver }, { jobId: `name-${receiver}` });
    this.#kept.add(receiver);
  }

  /** Writes how long entries are kept, for tools: of several apps the last to open the queues decides. */
  async keepRetention(): Promise<void> {
    const { retention } = this.#settings;
    const stored = await this.#names.getJob("retention");
    // With a priority it is not among the names. Compared as JSON, where Infinity is null.
    if (stored === undefined) {
      await this.#names.add("retention", retention, { jobId: "retention", priority: 1 });
    } else if (JSON.stringify(stored.data) !== JSON.stringify(retention)) {
      await stored.updateData(retention);
    }
  }

  /** How long entries are kept: as an app has written it, else as the options say. */
  async retention(): Promise<Retention> {
    const stored = await this.#names.getJob("retention");
    if (stored === undefined) return this.#settings.retention;
    const { handledMs, parkedMs } = stored.data as { [Name in keyof Retention]: number | null };
    const { POSITIVE_INFINITY } = Number;
    return { handledMs: handledMs ?? POSITIVE_INFINITY, parkedMs: parkedMs ?? POSITIVE_INFINITY };
  }

  /** The queues of a receiver, without registering it. */
  queuesOf(receiver: string): ReceiverQueues {
    const { prefix } = this.#settings;
    const queues =
      this.#queues.get(receiver) ?? new ReceiverQueues(this.#connection, prefix, receiver);
    this.#queues.set(receiver, queues);
    return queues;
  }

  /** The queues of one receiver, or of all. */
  async some(receiver: string | undefined): Promise<ReceiverQueues[]> {
    const names = receiver === undefined ? await this.names() : [receiver];
    return names.map((name) => this.queuesOf(name));
  }

  /** A delivery, of this receiver if one is named. */
  async find(id: string, receiver: string | undefined): Promise<Found | null> {
    for (const queues of await this.some(receiver)) {
      const found = await queues.find(id);
      if (found !== null) return found;
    }
    return null;
  }

  /** All names, of all processes. */
  async names(): Promise<string[]> {
    const ids = await this.#names.getRanges(["wait"], 0, -1, true);
    // Only ids of receivers, and each once: a deleted job may be there again.
    return [...new Set(ids.flatMap((id) => /^name-([\w.-]{1,64})$/.exec(id)?.[1] ?? []))];
  }
}

const timeId = "lived";

/** The mark in a job; none in anything else. */
function markOf(data: unknown): TimeMark {
  const mark = { ...(data as object | undefined) } as Readonly<Record<string, unknown>>;
  const isMark = Object.keys(noMark).every((name) => Number.isFinite(mark[name]));
  return isMark ? (data as TimeMark) : noMark;
}
