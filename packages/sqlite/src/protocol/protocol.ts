import {
  type AddResult,
  type ErrorCode,
  type InboxNotice,
  ReporthookError,
  type Stage,
} from "@reporthook/core";
import type { LivedMoment, Retention, StoredDelivery } from "@reporthook/core/store";
import type { ChangedTallies } from "./counts.ts";
import type { ThreadCall } from "./operations.ts";
import type { Changes } from "./row.ts";

/** Milliseconds of real time without a heartbeat after which a worker has lost its leases. */
export const leaseLostAfterMs: number = 5_000;
/** The time between two heartbeats of a worker that holds leases, in milliseconds. */
export const heartbeatMs: number = 1_000;
/** The maximum number of deliveries that one call acts on or prunes: its transaction blocks all others. */
export const rowsPerStep: number = 500;

/** The options of an inbox, checked. */
export interface StoreOptions {
  readonly path: string;
  /** The file of its module, which only the main thread looks for, or the name of a built-in one. */
  readonly driver: string;
  readonly migrate: boolean;
  /** Written into the file, unless it may not be changed. */
  readonly retention: Retention;
}

/** The options that the thread is started with. */
export interface ThreadOptions extends StoreOptions {
  /** A descriptor of the file that the main thread holds open; null if there is no file yet. */
  readonly descriptor: number | null;
  /** The main thread counts up this 32-bit number each second, as long as its event loop turns. */
  readonly pulse: SharedArrayBuffer;
}

/** The properties that several deliveries have in common. */
export interface Origin {
  readonly receiver: string;
  readonly url: string;
  readonly headers: string;
  readonly context: string | null;
  /** As {@link kindOf} says. */
  readonly kind: number;
  /** False for those that the receiver stores itself. */
  readonly isNotification: boolean;
  /** Only of a single delivery, that does not begin as received. */
  readonly changes: Changes | null;
}

/** A delivery to add, as a list: an object would send the names of its properties. An origin of several crosses once. */
export type Addition = readonly [
  origin: Origin,
  id: string,
  arrivedAt: number,
  requestId: string | null,
  signature: string | null,
  /** The bytes follow those of the one before in {@link Message.bytes}: body, then key. */
  bodyBytes: number,
  /** 0 without a key. */
  keyBytes: number,
];

/** The end of one attempt. */
export interface Completion {
  readonly seq: number;
  /** The stage that it was leased for. */
  readonly stage: Stage;
  /** The worker that it was leased to. */
  readonly leasedTo: number;
  readonly receiver: string;
  readonly kindBefore: number;
  readonly kindAfter: number;
  /** Whether this is the verdict alone: the same worker keeps the lease, to handle the delivery for the first time. */
  readonly keepsLease: boolean;
  readonly changes: Changes;
}

/** The state of one consumer, told when it begins or ends, when its room for deliveries changes, and when one is due. */
export interface ConsumerState extends LivedMoment {
  /** As in the receiver's clock. */
  readonly knownSince: number;
  readonly consumer: number;
  readonly receiver: string;
  readonly stage: Stage;
  /**
   * The credit to add; negative to withdraw some. The thread claims for a consumer as long as it has credit, and each delivery uses
   * some up.
   */
  readonly credit: number;
  readonly hasEnded: boolean;
}

/** A message to the thread: all that was asked for in one tick. */
export interface Message {
  readonly adds: readonly Addition[];
  readonly bytes: Uint8Array;
  readonly completions: readonly Completion[];
  readonly calls: readonly ThreadCall[];
  readonly consumers: readonly ConsumerState[];
  /** The sender's monotonic time in milliseconds. */
  readonly sentAt: number;
}

/** An error, in a form that crosses between threads. */
export interface ThreadFailure {
  readonly code: string;
  readonly failed: string;
}

/** The result of one add; a number when it was stored under it. */
export type StoredResult =
  | number
  | { readonly seq: number; readonly sameSignatureAs: string }
  | { readonly duplicateOf: string }
  | ThreadFailure;

/** A delivery that was leased to a consumer. */
export interface Claimed {
  readonly consumer: number;
  readonly seq: number;
  /** Null for a delivery that was just added or recorded: the main thread still has it in memory. */
  readonly stored: StoredDelivery | null;
  /** Whether no process has ended since work on it began for the first time. */
  readonly isFirstStart: boolean;
  /** The credit that it uses up. */
  readonly cost: number;
}

/** Leases that were taken over from another process. */
export type Takeover = Omit<Extract<InboxNotice, { readonly what: "took_over" }>, "what">;

/** A message from the thread after each commit, with results in the order of what was asked. */
export interface Reply {
  readonly adds: readonly StoredResult[];
  /** Whether each was recorded: false when the lease was lost. */
  readonly completions: readonly (boolean | ThreadFailure)[];
  readonly calls: readonly ({ readonly value: unknown } | ThreadFailure)[];
  readonly claimed: readonly Claimed[];
  /** The worker that holds the leases; null before the first. */
  readonly workerId: number | null;
  /**
   * When the next delivery of a consumer with credit is due, if that has changed or its state came: -Infinity if one may be due
   * now, Infinity if none waits.
   */
  readonly due: readonly { readonly consumer: number; readonly at: number }[];
  /** Deliveries that were parked, because work on them ended the process too often. */
  readonly poisoned: readonly StoredDelivery[];
  readonly takeovers: readonly Takeover[];
  readonly tallies: ChangedTallies;
  /** The leases that were held before are lost: another worker has taken them, or the file was not the one that was opened. */
  readonly lost: boolean;
  /** The failure of the batch; null while it is the same as before. */
  readonly error: ThreadFailure | null;
  /** When the last message of the batch was sent; null when there was none. */
  readonly asOf: number | null;
}

/** A message from the thread. */
export type FromThread =
  | { readonly opened: ChangedTallies }
  /** The thread ends, because it failed unexpectedly. */
  | { readonly ending: ThreadFailure }
  | { readonly reply: Reply };

/** The number under which a delivery was stored; null when it was not. */
export function seqOf(result: StoredResult): number | null {
  if (typeof result === "number") return result;
  return "seq" in result ? result.seq : null;
}

/** The answer to an add that did not fail. */
export function addResultOf(id: string, result: Exclude<StoredResult, ThreadFailure>): AddResult {
  if (typeof result === "number") return { status: "added", id };
  if ("duplicateOf" in result) return { status: "duplicate", id: result.duplicateOf };
  return { status: "added", id, sameSignatureAs: result.sameSignatureAs };
}

/** The result of what succeeded; throws the error of a failure. */
export function unlessFailed<Result>(result: Result): Exclude<Result, ThreadFailure> {
  if (typeof result === "object" && result !== null && "failed" in result) {
    throw errorOfFailure(result as unknown as ThreadFailure);
  }
  return result as Exclude<Result, ThreadFailure>;
}

/** The error of a failure. */
export function errorOfFailure({ code, failed }: ThreadFailure): ReporthookError {
  return new ReporthookError(code as ErrorCode, failed);
}
