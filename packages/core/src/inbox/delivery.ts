import type { EventType, Verification } from "../events/events.ts";

/** All states, in the order of a delivery's way. */
export const states = ["received", "verified", "handled", "held", "rejected", "dead"] as const;

/** The state of a delivery. `held` and `dead` are parked: a person releases or discards them. */
export type State = (typeof states)[number];

/** The two kinds of work after the acknowledgement. */
export type Stage = "verify" | "handle";

/** Why a delivery is parked or rejected: a stable code, and a sentence with the way out. */
export interface Reason {
  readonly code: ReasonCode;
  readonly message: string;
}

/** The codes for which a delivery may be held or dead; for another it is rejected. Inboxes store their places: only append. */
export const parkedReasons = [
  "unsigned",
  "expired",
  "reused_signature",
  "not_verified",
  "no_handler",
  "no_token",
  "not_understood",
  "schema_mismatch",
  "do_not_retry",
  "attempts_used_up",
  "poison",
  "erased",
] as const;

/** All codes of {@link Reason}. */
export const reasonCodes: readonly [...typeof parkedReasons, "invalid_signature"] = [
  ...parkedReasons,
  "invalid_signature",
];

/** The code of a {@link Reason}. */
export type ReasonCode = (typeof reasonCodes)[number];

/** The headers kept of a notification: content-type, user-agent, traceparent. */
export type KeptHeaders = Readonly<Record<string, string>>;

/** A received notification, as an inbox stores it. */
export interface NewDelivery {
  /** 26 characters that sort by time of receipt. */
  readonly id: string;
  /** The name of the receiver it belongs to. */
  readonly receiver: string;
  /** The time of the wall clock, in milliseconds since the epoch: the one in its id. */
  readonly receivedAt: number;
  /** Lived time in milliseconds, by which all is decided. */
  readonly arrivedAt: number;
  /** 24 bytes: 12 of the signature's hash, 12 of the hash of path, query and body; null when unsigned. */
  readonly key: Uint8Array | null;
  /** Forgotten at the verdict; null when unsigned. */
  readonly signature: string | null;
  /** Path and query, without a callback token. */
  readonly url: string;
  /** JSON text: the context of its URL. Null without one, a space if the token carries none, empty without a token that is required. */
  readonly context: string | null;
  /** The request that the callback URL was made for, by its token; null without. */
  readonly requestId: string | null;
  readonly headers: KeptHeaders;
  /** The exact bytes. */
  readonly body: Uint8Array;
}

/** The result of recognition. */
export interface Recognized {
  readonly type: EventType | null;
  readonly reportId: string | null;
}

/** All that the receipt or an attempt may find out about a delivery, for the inbox to keep. */
interface Findings extends Partial<Recognized> {
  readonly verification?: Verification | null;
  readonly reason?: Reason;
  /** The error of the attempt, as text; of a handled one it says that no handler ran. */
  readonly error?: string | null;
  /** For the logger: no inbox stores it. */
  readonly err?: Error;
  /** Text that comes back with the next {@link Job} of this stage. */
  readonly retryState?: string;
}

/** The first state of a delivery: to be verified, to be handled, or parked. With a `verification` its signature is not kept. */
export type Arrival =
  | (Findings & { readonly to: "received" })
  | (Findings &
      Recognized & { readonly to: "verified"; readonly verification: Verification | null })
  | (Findings & { readonly to: "held"; readonly reason: Reason });

/** The result of a stage: the next state of the delivery, and the data that the inbox keeps. */
export type Outcome =
  | (Findings & Recognized & { readonly to: "verified"; readonly verification: Verification })
  | (Findings & { readonly to: "handled" })
  | Parked
  | Rejected
  | Retry;

/** The outcome that parks a delivery. */
export interface Parked extends Findings {
  readonly to: "held" | "dead";
  readonly reason: Reason;
  readonly error: string | null;
}

/** The outcome that rejects a delivery. */
export interface Rejected extends Findings {
  readonly to: "rejected";
  readonly reason: Reason;
}

/** The outcome of a stage that has to run again. */
export interface Retry extends Findings {
  readonly to: "retry";
  /** Milliseconds from now. */
  readonly afterMs: number;
  readonly error: string;
  /** Whether this attempt counts; one cut off by a shutdown does not. */
  readonly countsAsAttempt: boolean;
  /** Deprioritizes it, for good: when it had its last turn, by lived time in milliseconds, or later. Never set back; the earliest is next. */
  readonly lastTurnAt?: number;
}

/** One attempt of a stage. */
export interface Attempt {
  readonly stage: Stage;
  readonly at: Date;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  readonly outcome: Outcome["to"];
  readonly error: string | null;
}

/** An act on a delivery that is still there, in its history. */
export interface ActRecord {
  readonly at: Date;
  readonly act: "release" | "retry" | "erase";
  /** The person, as the option `by` names one; else null. */
  readonly by: string | null;
}

/** A delivery as lists show it. */
export interface Entry {
  readonly id: string;
  readonly state: State;
  readonly reason: Reason | null;
  /** Null until it is verified: unverified bytes are not read. */
  readonly type: EventType | null;
  readonly reportId: string | null;
  /** The request that its callback URL was made for, known from the receipt on: the token says it, not the service. */
  readonly requestId: string | null;
  readonly receivedAt: Date;
  /** Attempts made in the stage it is in, or ended in. */
  readonly attempts: number;
  readonly nextAttemptAt: Date | null;
  readonly lastError: string | null;
  /** The key of the group of entries with an equal error; null when no attempt failed. */
  readonly error: string | null;
  /** When an attempt or a person last changed it, by lived time: later than all that the inbox had shown before. */
  readonly changedAt: Date;
}

/** One delivery in full. */
export interface EntryDetails extends Entry {
  /** The body as text; null when it is no longer kept. */
  readonly body: string | null;
  /** The context of the callback URL; null without one. */
  readonly context: unknown;
  /** Path and query, without a callback token; empty when they are no longer kept. */
  readonly url: string;
  readonly headers: KeptHeaders;
  readonly verification: Verification | null;
  /** The last 20 attempts of each stage and the last 20 acts of people, oldest first. */
  readonly history: readonly (Attempt | ActRecord)[];
}

/** A delivery, as a stage gets it. */
export interface Job
  extends Omit<Entry, "reason" | "nextAttemptAt" | "error" | "changedAt">,
    Pick<NewDelivery, "arrivedAt" | "signature" | "url" | "context" | "headers" | "body"> {
  readonly stage: Stage;
  readonly verification: Verification | null;
  /** A person has released it: it may run with any verification. */
  readonly released: boolean;
  /** The text of the last {@link Retry} of this stage. */
  readonly retryState: string | null;
  /** The earlier delivery with this signature and other bytes, as `add` found it. */
  readonly sameSignatureAs: string | null;
}

/** How long a signature is valid after its trigger, in milliseconds (document, section "Limits"). */
export const signatureLifetimeMs = 300_000;

/** Whether a stage still has to run. */
export function isWaiting(state: State): boolean {
  return state === "received" || state === "verified";
}

/** Whether a state is final until a person releases the delivery. */
export function isParked(state: State): state is "held" | "dead" {
  return state === "held" || state === "dead";
}

/** Makes the outcome that runs a stage again. */
export function retryIn(
  afterMs: number,
  error: string,
  rest: Pick<Retry, "countsAsAttempt" | "lastTurnAt" | "retryState">,
): Retry {
  return { to: "retry", afterMs, error, ...rest };
}

/** The outcome of work that a shutdown cut off. */
export const cutOff: Retry = /* @__PURE__ */ retryIn(0, "stopped", { countsAsAttempt: false });

/** Makes the outcome that parks a delivery for a reason. */
export function park<To extends "held" | "dead">(
  to: To,
  code: ReasonCode,
  message: string,
  error: string | null = null,
): Parked & { readonly to: To } {
  return { to, reason: { code, message }, error };
}

/** Parks a delivery on which work has ended the process so many times. */
export function poison(times: number): Parked {
  const message = `The process ended ${times} times while it processed this delivery. Fix the cause, then release it.`;
  return park("dead", "poison", message);
}

/** Makes the outcome that rejects a delivery for a reason. */
export function reject(code: ReasonCode, message: string): Rejected {
  return { to: "rejected", reason: { code, message }, error: null };
}

/** Start of a delivery's last error when the service refused the API key. */
export const keyRefused = "The service refuses the API key";

/** Whether the service refused the API key when it was last asked about a delivery, or was not asked for that reason. */
export function isKeyRefused({ state, lastError }: Pick<Entry, "state" | "lastError">): boolean {
  return state === "received" && lastError !== null && lastError.startsWith(keyRefused);
}
