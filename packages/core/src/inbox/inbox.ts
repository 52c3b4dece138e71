import type { StopSignal } from "../lib/abort.ts";
import type { InboxClock } from "../lib/time/lived-clock.ts";
import type { ActQuery, ActStep, ActsQuery, EraseQuery } from "./acts/act.ts";
import type { LoggedAct } from "./acts/act-log.ts";
import type { Backlog, Counts } from "./counts.ts";
import type { Arrival, Entry, EntryDetails, Job, NewDelivery, Outcome, Stage } from "./delivery.ts";
import type { ErrorGroup } from "./facts/error-groups.ts";
import type { Facts, Notes } from "./facts/facts.ts";
import type { Summary } from "./facts/summary.ts";
import type { ErrorsQuery, InboxQuery, SummaryQuery } from "./query.ts";
import type { RequestStore } from "./request-store.ts";
import type { Pruned } from "./retention.ts";

/** The result of {@link Inbox.add}. */
export type AddResult =
  | {
      readonly status: "added";
      readonly id: string;
      /** An earlier delivery with the same signature and other bytes. */
      readonly sameSignatureAs?: string;
    }
  | { readonly status: "duplicate"; readonly id: string };

/** The options of {@link Inbox.consume}. */
export interface ConsumeOptions {
  /** Only deliveries of this receiver. */
  readonly receiver: string;
  /**
   * The maximum number of jobs at a time. The handle stage has fewer, at least one, while deliveries are handled right after
   * their verdict.
   */
  readonly concurrency: number;
  /** Lived time, by which what is stored is due and kept: it does not follow a wall clock that is set. */
  readonly clock: InboxClock;
  /** Called when the inbox can't claim deliveries or record outcomes; it keeps trying. */
  readonly onError: (error: unknown) => void;
  /** Called for each event between the processes on the inbox; a receiver gives it to one of its consumers. */
  readonly onNotice?: (notice: InboxNotice) => void;
  /** Called once an outcome is recorded. */
  readonly onRecorded?: (job: Job, outcome: Outcome) => void;
  /**
   * For the verify stage: begins to handle a delivery right after its verdict, or returns null if it has to wait. An inbox that
   * calls it keeps the lease until handling ends, and may record verdict and result together if that is soon. An inbox that does
   * not call it records the verdict, and gives the delivery to the handle stage.
   */
  readonly handleAtOnce?: (job: Job, lease: Lease) => Promise<Outcome> | null;
}

/** An event between the processes on an inbox. */
export type InboxNotice =
  /** The event loop of this process stood still for `ms` milliseconds, and perhaps others have its deliveries. */
  | { readonly what: "stood_still"; readonly ms: number; readonly isHandedOn: boolean }
  /** This process took over the deliveries of another one, which was silent for `silentMs` milliseconds. */
  | {
      readonly what: "took_over";
      readonly deliveries: number;
      /** Its number and its host: `4711 on web-2`. */
      readonly process: string;
      readonly silentMs: number;
    };

/** The work of an inbox for one stage of one receiver. */
export interface Consumer {
  /** Claims no new deliveries; resolves when the running jobs have ended and are recorded. */
  stop(): Promise<void>;
  /** Requeues the running jobs as attempts that do not count, and aborts their signal. */
  abort(): Promise<void>;
  /** The number of running jobs. */
  readonly running: number;
}

/** Processes one job; after a rejection it runs again in a second. */
export type Processor = (job: Job, lease: Lease) => Promise<Outcome>;

/** A worker's claim on a job, as the work on it sees it. */
export interface Lease {
  /** Aborted when the work is to end. */
  readonly signal: StopSignal;
  /**
   * Whether this process still holds the job; always true in an inbox of one process. Asked if the work had to wait before it
   * began: a blocked process may have lost the job to another one.
   */
  isHeld(): boolean | Promise<boolean>;
}

/** Whether an inbox can store at this moment. */
export interface InboxHealth {
  readonly ok: boolean;
  /** The problem and the way out if it can't; a note that counting takes long if it can. */
  readonly error?: string;
}

/** The guarantees of a store, and its limits. */
export interface Guarantees {
  /**
   * An acknowledged delivery survives a power cut (`fsync`), the loss of a machine (`replicated`), the end of this process and
   * more, depending on the settings of a server (`server`), or nothing (`process`).
   */
  readonly durability: "fsync" | "process" | "replicated" | "server";
  /** Whether `add` names an earlier delivery with the same signature. */
  readonly noticesReuse: boolean;
  /** Whether the given clock decides when a delivery is due and pruned, or the clock of the store. */
  readonly clock: "given" | "own";
  /** Whether late and deprioritized deliveries always wait for all others, or usually. */
  readonly order: "exact" | "roughly";
  /** Whether the app accepts the loss of acknowledged deliveries that are not handled yet. */
  readonly lossAccepted?: true;
  /**
   * Whether events, reports, requests and errors are found in every state, or only among parked and rejected entries: then no
   * entry can be erased, and a rejected one keeps only a body of up to 16 KiB.
   */
  readonly finds: "everything" | "parked";
}

/** One moment by lived time and by the wall clock, in milliseconds since the epoch. */
export interface TimeMark {
  readonly livedAt: number;
  readonly wallAt: number;
  /** The wall clock as if it had not been set back in the last hour: time has passed if it gains beyond this. */
  readonly furthestAt: number;
  /** Milliseconds of lived time that passed between two processes, by a wall clock that nobody knew for an hour. */
  readonly unseenMs: number;
  /** Milliseconds by which retention is held back: so much of the lived time has not passed. */
  readonly heldMs: number;
}

/**
 * The store of deliveries. One object serves any number of receivers, by name.
 *
 * An entry belongs to one stage at a time: `received` waits for `verify`, `verified` for `handle`.
 */
export interface Inbox {
  /** The identity of the store, equal for two objects on one store: a file's path, or the object itself. */
  readonly identity: unknown;
  readonly guarantees: Guarantees;
  /** Opens the store; resolves when it can be written. Idempotent. The other methods open it if needed, or reject. */
  open(): Promise<void>;
  /** Resolves only once the delivery is durable. The same `key` within 24 hours is stored once. */
  add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult>;
  /**
   * Claims entries of a stage, processes them and records the outcomes. Keeps the latest 1,000 handled and the latest 1,000 dead
   * unsigned ones.
   */
  consume(stage: Stage, processor: Processor, options: ConsumeOptions): Consumer;
  get(id: string, receiver?: string): Promise<EntryDetails | null>;
  /** Oldest first, unless told. */
  list(query?: InboxQuery): Promise<Entry[]>;
  /** Summarizes the whole inbox, and the notifications received in a span of time. */
  summary(query: SummaryQuery): Promise<Summary>;
  counts(receiver?: string): Promise<Counts>;
  /** The names of the receivers that have used the store: one that tools open has it. */
  receivers?(): Promise<readonly string[]>;
  /** The backlog of a receiver, synchronously: read before every body. */
  backlog(receiver: string): Backlog;
  /** The facts from which a receiver's problems follow. Asked each few seconds: a million deliveries must not take long. */
  facts(receiver: string): Promise<Facts>;
  /** The notes of a receiver whose keys begin with `prefix`. */
  notes(receiver: string, prefix: string): Promise<Notes>;
  /**
   * Keeps notes of a receiver in place of those with the same keys; null deletes one. A key has 1 to 100 of `[a-z0-9/-]`, a text
   * some thousand characters.
   */
  keepNotes(receiver: string, notes: Readonly<Record<string, string | null>>): Promise<void>;
  /**
   * Releases, retries or discards entries, in steps that leave time for other work. A step compares each entry with the query
   * as it changes it. No entry is met twice. The act ends when no further step is asked for.
   */
  act(query: ActQuery): AsyncIterable<ActStep>;
  /** Keeps requests for reports; without it `receiver.reports` says that this inbox can't. */
  readonly requests?: RequestStore | undefined;
  /**
   * Removes bodies, errors and contexts of the entries of one report or its requests, in every state, in steps; resolves to how many.
   * An entry whose report is not known is found by its body. Only a store that can look for a report in every state has it.
   */
  erase?(query: EraseQuery): Promise<number>;
  /** Copies a running store at one moment into a new file that only its owner may read: a store in a file has it. It blocks this thread. */
  backup?(file: string, options?: { readonly overwrite?: boolean | undefined }): Promise<void>;
  /** The groups of entries with equal errors, largest first, at most 1,000. */
  errors(query?: ErrorsQuery): Promise<ErrorGroup[]>;
  /**
   * The last 1,000 acts, newest first. An act that changed nothing is none; one that ends half way has the number that it has counted.
   */
  acts(query?: ActsQuery): Promise<LoggedAct[]>;
  /**
   * Deletes the entries, and the requests, whose retention is over at `now`, a lived time. Parked ones are announced first, and deleted after the notice. With
   * `dryRun` nothing changes.
   */
  prune(now: Date, options?: { readonly dryRun?: boolean | undefined }): Promise<Pruned>;
  /**
   * Keeps lived time for the next process, if the store outlives one: stores `mark` unless its own is later in `livedAt`, and the
   * larger `heldMs`; resolves to what is stored then. A new store has zeros. Entries show `nextAttemptAt` with the difference of
   * the stored `wallAt` and `livedAt` added.
   */
  keepTime?(mark: TimeMark): Promise<TimeMark>;
  health(): Promise<InboxHealth>;
  /** Ends all work and closes the store. Its entries stay, and `open` opens it again. Idempotent. */
  close(): Promise<void>;
}
