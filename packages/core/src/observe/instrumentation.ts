import type { Authorization, Outage } from "../client/authorizer.ts";
import type { ServiceAnswer, Verdict } from "../client/client.ts";
import type { Lookout } from "../health/health.ts";
import type { ReceiveResult } from "../http/answer.ts";
import type { Incoming } from "../http/incoming.ts";
import type { Arrival, Job, NewDelivery, Outcome } from "../inbox/delivery.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Pruned } from "../inbox/retention.ts";
import type { Logger, OncePerMinute } from "../lib/log.ts";
import type { Bind } from "../lib/platform.ts";
import type { LivedClock } from "../lib/time/lived-clock.ts";

/** The key under which `createReceiver` takes an {@link Instrument}: for telemetry, no option of apps. */
export const instrumentation: unique symbol = Symbol.for("reporthook.instrumentation");

/** The key under which the option `observe` takes an {@link Instrument}: the result of `alerts`. */
export const watch: unique symbol = Symbol.for("reporthook.watch");

/** Called once for each receiver; returns the instrumentation of its work. */
export type Instrument = (receiver: Watched) => Instrumentation;

/** The part of a receiver that an {@link Instrument} sees: its settings and its health. */
export interface Watched {
  readonly name: string;
  readonly ack: "stored" | "handled";
  readonly inbox: Inbox;
  readonly clock: LivedClock;
  readonly logger: Logger;
  /** Lines of the logger that may repeat. */
  readonly oncePerMinute: OncePerMinute;
  /** Removes the API key from errors of the app's code. */
  readonly redact: (text: string) => string;
  /** Runs a function in the async context of `createReceiver`, never in a request's. */
  readonly bind: Bind;
  /** Knows how the receiver is. */
  readonly lookout: Lookout;
}

/** The result of `reports.request`. */
export interface Requested {
  readonly id: string;
  readonly answer: ServiceAnswer | null;
}

/**
 * Is told what happens in one receiver: the log, hooks, telemetry and alerts are instruments. Telemetry also wraps the work; a
 * wrapper has to run its function once, and to pass on the result.
 */
export interface Instrumentation {
  /** The work of the receiver begins. */
  begin?(): void;
  /** One request, from its arrival to the result; `run` takes the request to receive. */
  receive?(
    incoming: Incoming,
    id: string,
    run: (incoming: Incoming) => Promise<ReceiveResult>,
  ): Promise<ReceiveResult>;
  /** One authorize call. */
  verify?(job: Job, run: () => Promise<Authorization>): Promise<Authorization>;
  /** All handlers of one attempt; resolves to what they threw. `traceparent` was kept with the request for the report. */
  handle?(
    job: Job,
    run: () => Promise<readonly unknown[]>,
    traceparent?: string,
  ): Promise<readonly unknown[]>;
  /** One call of `reports.request`, in its async context; `run` takes the `traceparent` to keep with the request. */
  request?(run: (traceparent?: string) => Promise<Requested>): Promise<Requested>;
  /** Called with the result of each request, whether it was refused with a signature, the milliseconds with storing, and its id. */
  answered?(result: ReceiveResult, isSigned: boolean, ms: number, id: string): void;
  /** Called with each verdict. */
  judged?(job: Job, verdict: Verdict): void;
  /**
   * Called when a call of authorize brought no verdict, with its error; `outage` is null if that may concern this signature
   * alone, and `hasAnswered` is false if no answer came.
   */
  noVerdict?(job: Job, outage: Outage | null, hasAnswered: boolean, error: string): void;
  /** Called with the names of the headers of a notification without a signature, unless it is a test. */
  unsigned?(headers: readonly string[]): void;
  /** Called when a notification could not be stored. */
  notStored?(error: unknown): void;
  /** Called when this process stood still for so many milliseconds. */
  stoodStill?(ms: number): void;
  /** Called with a delivery that is stored, before its answer. */
  stored?(delivery: NewDelivery, arrival: Arrival): void;
  /** Called with the outcome of a stage. A delivery that is held on arrival met none: its job has the state `held` already. */
  settled?(job: Job, outcome: Outcome): void;
  /** Called with what retention did now. */
  pruned?(pruned: Pruned): void;
  /** The receiver is closed, and waits for the promise. */
  end?(): void | Promise<void>;
}
