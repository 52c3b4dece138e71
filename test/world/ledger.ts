import { Wishes } from "./reports/wish.ts";
import type { Deed, Notification } from "./surroundings/notification.ts";

/** One call of a handler. */
export interface Run {
  readonly n: number;
  readonly id: string;
  readonly handler: string;
  readonly attempt: number;
  readonly process: number;
  readonly startedAt: number;
  /** Null while it runs, and when its process ended first. */
  ended: { readonly at: number; readonly how: Deed } | null;
}

/** The service's answer when it was asked about a signature. */
export interface Verdict {
  readonly signature: string;
  readonly at: number;
  /** The HTTP status; null when there was no answer. */
  readonly status: number | null;
}

/** A time in which nothing was wrong. */
interface Calm {
  readonly from: number;
  to: number;
}

/** The record of all events in a world, against which the promises are checked. */
export class Ledger {
  readonly startedAt: number;
  readonly notifications: Notification[] = [];
  readonly runs: Run[] = [];
  readonly wishes: Wishes = new Wishes();
  readonly verdicts: Verdict[] = [];
  readonly broken: string[] = [];
  readonly trace: string[] = [];
  readonly calm: Calm[] = [];
  /** How often a process or the thread of its inbox ended unasked, or stood still. */
  deaths = 0;
  /** When a process that went on lost the leases it may have had. */
  readonly leasesLost: number[] = [];
  readonly #now: () => number;
  readonly #wrong = new Set<string>();

  constructor(now: () => number) {
    this.#now = now;
    this.startedAt = now();
    this.calm.push({ from: this.startedAt, to: Number.POSITIVE_INFINITY });
  }

  /** One line of what happened. */
  tell(who: string, what: string): void {
    const ms = this.#now() - this.startedAt;
    this.trace.push(`${(ms / 1_000).toFixed(3).padStart(10)} ${who.padEnd(9)} ${what}`);
  }

  /** A promise is broken. */
  breaks(what: string): void {
    this.broken.push(what);
    this.tell("BROKEN", what);
  }

  /** Something begins to be wrong. */
  begin(what: string): void {
    this.tell("fault", `${what} begins`);
    const last = this.calm.at(-1);
    if (this.#wrong.size === 0 && last !== undefined) last.to = this.#now();
    this.#wrong.add(what);
  }

  /** It is over. */
  end(what: string): void {
    if (!this.#wrong.delete(what)) return;
    this.tell("fault", `${what} is over`);
    if (this.#wrong.size === 0) this.calm.push({ from: this.#now(), to: Number.POSITIVE_INFINITY });
  }

  /** Whether something is wrong. */
  get isCalm(): boolean {
    return this.#wrong.size === 0;
  }

  /** The longest time between two moments in which nothing was wrong, in milliseconds. */
  calmWithin(from: number, to: number): number {
    const spans = this.calm.map((calm) => Math.min(calm.to, to) - Math.max(calm.from, from));
    return Math.max(0, ...spans);
  }
}
