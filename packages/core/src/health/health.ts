import { type Counts, zeroCounts } from "../inbox/counts.ts";
import type { InboxHealth } from "../inbox/inbox.ts";
import type { ReceiverView } from "../inbox/receiver-inbox.ts";
import { describe } from "../lib/text/describe.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { settlesWithin } from "../lib/time/timeout.ts";
import { hourMs } from "../lib/time/units.ts";
import type { Numbers } from "./counters.ts";
import { type Problem, problemKey, problemsUrl, typed } from "./problem.ts";
import { problemsOf } from "./problems.ts";
import {
  latestOf,
  livingOf,
  type ProcessReport,
  type ServiceStatus,
  silenceMs,
} from "./process-report.ts";
import type { ProcessState } from "./process-state.ts";
import { SharedQuestion } from "./shared-question.ts";
import { type Look, lookAt } from "./situation.ts";

/** The health of a receiver. It names hosts and errors: show `ready` alone to the outside. */
export interface Health {
  /**
   * Whether it accepts notifications: false while closing, when the inbox fails or says nothing for 4 seconds, and for 30 seconds
   * after one could not be stored, unless one was since.
   */
  readonly ready: boolean;
  readonly inbox: InboxHealth;
  /** The last answer of the service; `failing`: it answers, with no verdict. */
  readonly service: ServiceStatus;
  /** Age of the oldest delivery that is neither handled nor parked, in milliseconds. */
  readonly oldestWaitingMs: number | null;
  /** When the newest notification was received. */
  readonly newest: Date | null;
  /** The last ones, all zero before the first. */
  readonly counts: Counts;
  /** When they were counted; null before the first time. */
  readonly countedAt: Date | null;
  /** The problems, worst first. */
  readonly problems: readonly Problem[];
}

/** A process on an inbox, of those that gave a sign of life in the last hour. */
export interface InboxProcess extends Pick<ProcessReport, "host" | "pid" | "version"> {
  readonly since: Date;
  /** Its last sign of life. */
  readonly seenAt: Date;
  readonly state: "running" | "silent" | "ended";
}

const order: readonly InboxProcess["state"][] = ["running", "silent", "ended"];

/** The key under which a receiver, or an inbox without one, has its {@link Lookout}: for the dashboard. */
export const inside: unique symbol = Symbol.for("reporthook.inside");

const answerMs = 400;
const pruneMs = 100;
const silentMs = 4_000;
/** Longer than a server is let count. */
const countingMs = 60_000;
/** Milliseconds by which two clocks that are read one after the other may differ. */
const jitterMs = 100;
const never = Number.NEGATIVE_INFINITY;

/** Looks at a receiver and its inbox: the only place that knows how it is. */
export class Lookout {
  /** The last look at the inbox; null before the first. */
  look: (Look & { readonly at: number }) | null = null;
  readonly #receiver: ReceiverView;
  /** Null of a tool, which has no receiver. */
  readonly #own: ProcessState | null;
  #inbox: InboxHealth = { ok: true };
  /** Since when the inbox says that it fails, or says nothing. */
  #fails: ProcessReport["fails"];
  #wallOffset = 0;
  readonly #asking: SharedQuestion;
  readonly #looking: SharedQuestion;

  constructor(receiver: ReceiverView, own: ProcessState | null = null) {
    this.#receiver = receiver;
    this.#own = own;
    const shared = (againMs: number, ask: () => Promise<void>) =>
      new SharedQuestion(receiver.clock, againMs, () => ask().catch(this.#failed));
    this.#asking = shared(silentMs, async () => this.#says(await receiver.inbox.health()));
    this.#looking = shared(countingMs, () => this.#look());
  }

  /** Milliseconds to add to lived time for people: the same until the clock is set, so that a date stays. */
  get wallOffset(): number {
    const { wallOffset } = this.#receiver.clock;
    if (Math.abs(wallOffset - this.#wallOffset) > jitterMs) this.#wallOffset = wallOffset;
    return this.#wallOffset;
  }

  /** Resolves within 500 ms, also if the inbox gives no answer. Never rejects. */
  readonly health = async (): Promise<Health> => {
    if (this.#receiver.phase !== "closed") await settlesWithin(realClock, answerMs, this.looked());
    if (this.#receiver.phase !== "closed" && this.#asking.silentMs >= silentMs) {
      this.#failed(`The inbox gave no answer within ${silentMs} ms`);
    }
    return this.#healthNow();
  };

  /** Resolves once it has looked again, without a time limit. Never rejects. */
  async looked(): Promise<void> {
    await this.#asking.answer();
    // A tool can read a file that takes nothing more. A query would open a closed inbox again.
    const mayAnswer = this.#inbox.ok || this.#own === null;
    if (mayAnswer && this.#receiver.phase !== "closed") await this.#looking.answer();
  }

  async #look(): Promise<void> {
    const { clock, inbox, name, time } = this.#receiver;
    await time.join();
    // A long one goes on meanwhile.
    await settlesWithin(realClock, pruneMs, this.#receiver.prune());
    const at = clock.now();
    this.look = { at, ...(await lookAt(inbox, name)) };
  }

  readonly #failed = (error: unknown): void => {
    this.#says({ ok: false, error: describe(error) });
  };

  #says(inbox: InboxHealth): void {
    const { since = this.#receiver.clock.now() } = this.#fails ?? {};
    this.#fails = inbox.ok ? undefined : { since, error: inbox.error ?? "" };
    this.#inbox = inbox;
  }

  #healthNow(): Health {
    const { clock, phase } = this.#receiver;
    const { look, reports } = this;
    const isClosed = phase === "closed";
    const notStored = this.#own === null || isClosed ? null : reports[0]?.fails;
    const error = this.#inbox.ok ? notStored?.error : undefined;
    const inbox = error === undefined ? this.#inbox : { ok: false, error };
    const { oldestWaiting = null, newest = null, counts = zeroCounts() } = look?.facts ?? {};
    // Of those that are not kept, processes know.
    const newestAt = latestOf([newest, ...reports.map((report) => report.newest)]);
    return {
      ready: phase !== "closing" && !isClosed && inbox.ok,
      inbox,
      // Of this process, or the one that spoke last.
      service: reports.find(({ service }) => service !== "unknown")?.service ?? "unknown",
      oldestWaitingMs:
        oldestWaiting === null || isClosed ? null : Math.max(0, clock.now() - oldestWaiting),
      newest: newestAt === never ? null : new Date(newestAt),
      counts,
      countedAt: look === null ? null : this.#dateOf(look.at),
      problems: isClosed ? [] : this.#problems(),
    };
  }

  /** The processes on the inbox, those that speak first. */
  get processes(): InboxProcess[] {
    const { reports } = this;
    const now = this.#receiver.clock.now();
    const living = livingOf(reports, now);
    return reports
      .filter(({ at }) => now - at <= hourMs)
      .map((one): InboxProcess => {
        const { host, pid, version, since, at, hasEnded } = one;
        const state = hasEnded ? "ended" : living.includes(one) ? "running" : "silent";
        return { host, pid, version, since: this.#dateOf(since), seenAt: this.#dateOf(at), state };
      })
      .sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
  }

  /** Whether it has watched other processes long enough to tell that one goes on. */
  get knowsSilent(): boolean {
    return this.#receiver.clock.now() - (this.#own?.awakeSince ?? never) >= silenceMs;
  }

  /** The numbers of the receiver's process; null of a tool. */
  get numbers(): Numbers | null {
    return this.#own?.counters.numbers ?? null;
  }

  #dateOf(lived: number): Date {
    return new Date(lived + this.wallOffset);
  }

  /** Of this process first, and of others, the latest first. */
  get reports(): readonly ProcessReport[] {
    const others = this.look?.reports ?? [];
    if (this.#own === null) return others;
    const own = this.#own.report();
    return [own, ...others.filter(({ id }) => id !== own.id)];
  }

  /** Whether a signed notification was ever valid here, as far as it has looked. */
  get everValid(): boolean {
    return this.reports.some(({ validAt }) => Number.isFinite(validAt));
  }

  /** When a process last got a verdict, as far as it has looked; `-Infinity` when none did. */
  get judgedAt(): number {
    return latestOf(this.reports.map(({ judgedAt }) => judgedAt));
  }

  #problems(): Problem[] {
    const { look, reports } = this;
    const { name } = this.#receiver;
    const facts = this.#inbox.ok ? (look?.facts ?? null) : null;
    // A tool knows the time from the wall clock and the inbox; those that give signs know it better.
    const now = Math.max(this.#receiver.clock.now(), ...reports.map(({ at }) => at));
    const found = problemsOf({
      receiver: name,
      now,
      facts,
      reports,
      fails: this.#fails,
      overdue: look?.overdue ?? null,
      everValid: this.everValid,
      living: livingOf(reports, now),
      watchedSince: this.#own?.awakeSince ?? never,
    });
    // Of an inbox that fails nothing else is known.
    if (look !== null && facts !== null) {
      const open = Object.fromEntries(found.map((one) => [problemKey(one), one.since]));
      this.#own?.looked(open, facts.failing === null ? look.at : never);
    }
    return found.map(({ since, command, ...rest }) => ({
      ...rest,
      since: this.#dateOf(since),
      command: command === null ? null : typed(command, name),
      url: problemsUrl,
    }));
  }
}
