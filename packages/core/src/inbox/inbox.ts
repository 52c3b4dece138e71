import type { EventType } from "../events/events.ts";
import type { StopSignal } from "../lib/abort.ts";
import type { Clock } from "../lib/clock.ts";
import type {
  Arrival,
  Entry,
  EntryDetails,
  Job,
  NewDelivery,
  Outcome,
  ReasonCode,
  Stage,
  State,
} from "./delivery.ts";

/** What became of a delivery handed to {@link Inbox.add}. */
export type AddResult =
  | {
      readonly status: "added";
      readonly id: string;
      /** An earlier delivery with the same signature and other bytes. */
      readonly sameSignatureAs?: string;
    }
  | { readonly status: "duplicate"; readonly id: string };

/** What the owner of a stage asks of an inbox. */
export interface ConsumeOptions {
  /** Only deliveries of this receiver. */
  readonly receiver: string;
  /** How many at once; of the handle stage fewer, but one at least, while deliveries are handled at once. */
  readonly concurrency: number;
  readonly clock: Clock;
  /** Told when the inbox can't hand out or record work; it goes on trying by itself. */
  readonly onError: (error: unknown) => void;
  /** Told once an outcome is recorded. */
  readonly onRecorded?: (job: Job, outcome: Outcome) => void;
  /**
   * For the verify stage: begins to handle a delivery that was verified just now, or returns null when it has to wait.
   *
   * An inbox that calls it keeps the delivery leased until handling ends, and may record verdict and result together if that
   * is soon. One that does not call it records the verdict, and hands the delivery out for the handle stage.
   */
  readonly handleAtOnce?: (...job: Parameters<Processor>) => Promise<Outcome> | null;
}

/** Work in progress on one stage. */
export interface Consumer {
  /** Takes up no new work; resolves when what runs has ended and is recorded. */
  stop(): Promise<void>;
  /** Gives running work back as an attempt that does not count, and aborts its signal. */
  abort(): Promise<void>;
  /** How many are being worked on. */
  readonly running: number;
}

/**
 * Work on one job; a rejection makes it come again after a second. An inbox with leases gives `isLeased`, which is asked where
 * the work had to wait before it began: a process that stood still may have lost the job to another one.
 */
export type Processor = (job: Job, signal: StopSignal, isLeased?: IsLeased) => Promise<Outcome>;

/** Whether this process still holds the lease of a job. */
export type IsLeased = () => boolean | Promise<boolean>;

/** Number of deliveries by state. */
export type Counts = Readonly<Record<State, number>>;

/** How full an inbox is: exact for what this process did, at most a second old for the rest. */
export interface Backlog {
  /** `received` and `verified`. */
  readonly waiting: number;
  /** `received`, without those that give way. */
  readonly unverified: number;
  /** `verified` without a signature. */
  readonly unsignedWaiting: number;
  /** `held` without a signature. */
  readonly unsignedHeld: number;
}

/** Which entries to list. */
export interface InboxQuery {
  /** Of this receiver; of all when left out. */
  readonly receiver?: string | undefined;
  /** In this state; `parked` is held or dead. */
  readonly state?: State | "parked" | undefined;
  /** With this event type, known once it is verified. */
  readonly type?: EventType | undefined;
  /** Of this report. */
  readonly reportId?: string | undefined;
  /** Parked or rejected for this reason. */
  readonly reason?: ReasonCode | undefined;
  /** Received at this moment or later: told by their ids, which begin with the time of receipt. */
  readonly from?: Date | undefined;
  /** Received before this moment, told likewise. */
  readonly until?: Date | undefined;
  /** Only those whose id begins so. */
  readonly idPrefix?: string | undefined;
  /** Oldest first when left out. */
  readonly newestFirst?: boolean | undefined;
  /** At most this many; 100 when left out. */
  readonly limit?: number | undefined;
  /** Only those that come after this id, in the order asked for. */
  readonly after?: string | undefined;
}

/** What to sum up: the minutes between two moments. */
export interface SummaryQuery {
  readonly receiver?: string | undefined;
  readonly from: Date;
  readonly until: Date;
}

/** What an inbox holds, in numbers. */
export interface Summary {
  /** How many are parked, by reason; reasons of none are left out. */
  readonly parked: Readonly<Partial<Record<ReasonCode, number>>>;
  /** When the oldest in each state was received, or null. */
  readonly oldest: Readonly<Record<State, Date | null>>;
  /** Those in which something was received, oldest first. */
  readonly minutes: readonly Minute[];
}

/** What was received in one minute. */
export interface Minute {
  /** Its beginning. */
  readonly at: Date;
  /** By the state that they are in now. */
  readonly counts: Counts;
  /** `ackMs` of their entries: median and 99th percentile of up to about 100 of them. */
  readonly ackMs: { readonly p50: number; readonly p99: number };
}

/**
 * Which entries to run: one that is parked or handled; all that are parked for a reason; or the one with the id `retry`,
 * which waits for its next try and now waits no longer, its attempts counted on.
 */
export type ReleaseQuery =
  | { readonly receiver: string; readonly id: string; readonly now: number }
  | { readonly receiver: string; readonly reason: ReasonCode; readonly now: number }
  | { readonly receiver: string; readonly retry: string; readonly now: number };

/** Whether an inbox can store at this moment. */
export interface InboxHealth {
  readonly ok: boolean;
  /** What is wrong and what to do, when it is not; that it takes long to count, when it is. */
  readonly error?: string;
}

/** What survives what, and what a store can't do. */
export interface Guarantees {
  /**
   * Survives a power cut (`fsync`), the loss of a machine (`replicated`), the end of this process and what else the
   * settings of a server say (`server`), or nothing (`process`).
   */
  readonly durability: "fsync" | "process" | "replicated" | "server";
  /** Whether `add` names an earlier delivery with the same signature. */
  readonly noticesReuse: boolean;
  /** Whether only the clock and the moments it is given decide what is due and kept, or an engine with a clock of its own. */
  readonly clock: "given" | "own";
  /** Whether late deliveries and those that give way wait for all others, or are only likely to. */
  readonly order: "exact" | "roughly";
  /** Whether the app has said that it can do without what was acknowledged and not handled yet. */
  readonly lossAccepted?: true;
  /** Whether `list` finds events and reports in every state, or only among what is parked or rejected. */
  readonly finds: "everything" | "parked";
}

/**
 * Where deliveries wait. One object serves any number of receivers, told apart by name.
 *
 * An entry belongs to one stage at a time: `received` waits for `verify`, `verified` for `handle`.
 */
export interface Inbox {
  /** What tells two objects of one and the same store: a file's path, or the object itself. */
  readonly identity: unknown;
  readonly guarantees: Guarantees;
  /** Opens the store; resolves when it can be written. Idempotent; the other calls open it by themselves, or reject. */
  open(): Promise<void>;
  /** Resolves only once the delivery is durable. The same `key` within 24 hours is stored once. */
  add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult>;
  /**
   * Hands out entries of a stage, leased, and records what became of them. Of those without a signature the latest 1,000
   * handled and the latest 1,000 dead are kept.
   */
  consume(stage: Stage, processor: Processor, options: ConsumeOptions): Consumer;
  get(id: string, receiver?: string): Promise<EntryDetails | null>;
  /** Oldest first, unless told. */
  list(query?: InboxQuery): Promise<Entry[]>;
  /** In numbers: all there is, and what was received in a span of time. */
  summary(query: SummaryQuery): Promise<Summary>;
  counts(receiver?: string): Promise<Counts>;
  /** Without waiting: asked before every body is read. */
  backlog(receiver: string): Backlog;
  /** When the oldest waiting delivery was received, or null. */
  oldestWaiting(receiver: string): Promise<Date | null>;
  /** Runs parked or handled entries again, attempts from zero unless it is a retry; resolves to how many. Rejects `not_found`, `not_releasable` for an id. */
  release(query: ReleaseQuery): Promise<number>;
  /** Deletes a parked entry. Rejects `not_found`, `not_parked`. */
  discard(id: string, receiver?: string): Promise<void>;
  /** Deletes what its retention no longer keeps at `now`; resolves to how many. */
  prune(now: Date): Promise<number>;
  health(): Promise<InboxHealth>;
  /** Ends all work and lets go of the store; what is kept stays, and `open` opens it again. Idempotent. */
  close(): Promise<void>;
}
