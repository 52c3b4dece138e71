import type { Outcome } from "../inbox/delivery.ts";
import type { Health } from "../inbox/health.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { ReasonCounts } from "../inbox/selection.ts";
import type { Logger } from "../lib/log.ts";
import type { Bind } from "../lib/platform.ts";
import type { ReceiverClock } from "../lib/time/lived-clock.ts";

/** The key under which the option `observe` takes a {@link Watch}. */
export const watch: unique symbol = Symbol.for("reporthook.watch");

/** Called once for each receiver; returns its watcher. */
export type Watch = (receiver: Watched) => Watcher;

/** The part of a receiver that a watcher sees: its settings and its health. */
export interface Watched {
  readonly name: string;
  readonly ack: "stored" | "handled";
  readonly inbox: Inbox;
  readonly clock: ReceiverClock;
  readonly logger: Logger;
  /** Removes the API key from a text. */
  readonly redact: (text: string) => string;
  /** Runs a function in the async context of `createReceiver`. */
  readonly bind: Bind;
  readonly health: () => Promise<Health>;
}

/** Watches one receiver; nothing here throws or rejects. */
export interface Watcher {
  /** Called when the work of the receiver begins. */
  begin(): void;
  /** Called with the outcome of a stage. */
  settled(outcome: Outcome): void;
  /** Called with the number of parked deliveries that retention has deleted, by reason. */
  deleted(parked: ReasonCounts): void;
  /** Called when the work has ended; resolves when the last messages are sent, or after 2 seconds. */
  end(): Promise<void>;
}
