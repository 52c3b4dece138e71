import type { Authorization } from "../client/authorizer.ts";
import type { ReceiveResult } from "../http/answer.ts";
import type { Incoming } from "../http/incoming.ts";
import type { Job, Outcome } from "../inbox/delivery.ts";
import type { Health } from "../inbox/health.ts";
import type { ReasonCounts } from "../inbox/selection.ts";

/** The key under which `createReceiver` takes an {@link Instrument}: for telemetry, no option of apps. */
export const instrumentation: unique symbol = Symbol.for("reporthook.instrumentation");

/** Called once for each receiver; returns the instrumentation of its work. */
export type Instrument = (receiver: {
  readonly name: string;
  health(): Promise<Health>;
  /** Removes the API key from errors of the app's code. */
  redact(text: string): string;
}) => Instrumentation;

/** Wraps the work of one receiver. A wrapper has to run its function once, and to pass on the result. */
export interface Instrumentation {
  /** One request, from its arrival to the result; `run` takes the request to receive. */
  receive(
    incoming: Incoming,
    id: string,
    run: (incoming: Incoming) => Promise<ReceiveResult>,
  ): Promise<ReceiveResult>;
  /** One authorize call. */
  verify(job: Job, run: () => Promise<Authorization>): Promise<Authorization>;
  /** All handlers of one attempt; resolves to what they threw. */
  handle(job: Job, run: () => Promise<readonly unknown[]>): Promise<readonly unknown[]>;
  /** Called with the outcome of a stage. */
  settled(job: Job, outcome: Outcome): void;
  /** Called with the number of parked deliveries that retention has deleted, by reason. */
  deleted(parked: ReasonCounts): void;
  /** The receiver is closed. */
  end(): void;
}
