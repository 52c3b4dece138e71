import type { InboxClock, Stage } from "@reporthook/core";
import { isAttempt, type StoredDelivery } from "@reporthook/core/store";
import type { Queue } from "bullmq";
import { foundIn } from "../queues/found.ts";
import { isLost } from "./settle.ts";

const atOnce = 100;
/** Milliseconds by which the clocks of machines may differ. */
const slackMs = 1_000;
/** Milliseconds in which a process that begins asks about what waits. */
const hastenedMs = 10_000;

/**
 * The rest of a delay in milliseconds, if BullMQ takes it for another: it goes by the wall clock, which was not as it is now when
 * the delay began. Null if it is right.
 */
export function missedDelay(stored: StoredDelivery, clock: InboxClock): number | null {
  const last = stored.history.at(-1);
  // Another process may have moved the time on, which this one does not know yet: BullMQ knows better.
  if (last === undefined || clock.now() < stored.changedAt - slackMs) return null;
  const ms = isAttempt(last) ? last.ms : 0;
  const wallOffset = last.at.getTime() + ms - stored.changedAt;
  if (Math.abs(wallOffset - clock.wallOffset) <= slackMs) return null;
  return Math.max(0, stored.dueAt - clock.now());
}

/** By which wall clock a receiver set its last delay, and how often that was another one than before. */
interface Setting {
  wallOffset: number;
  changes: number;
}

const settings = new WeakMap<InboxClock, Setting>();

/** Called when a receiver sets a delay in any of its queues, which goes by the wall clock as it is now. */
export function delaySet(clock: InboxClock): void {
  const { wallOffset } = clock;
  const setting = settings.get(clock) ?? { wallOffset, changes: 0 };
  if (Math.abs(wallOffset - setting.wallOffset) > slackMs) setting.changes++;
  setting.wallOffset = wallOffset;
  settings.set(clock, setting);
}

/** Keeps the delays of one queue to lived time. */
export class Delays {
  readonly #queue: Queue;
  readonly #stage: Stage;
  readonly #clock: InboxClock;
  /** By which the delays were set; null at first. */
  #wallOffset: number | null = null;
  #changes = 0;

  constructor(queue: Queue, stage: Stage, clock: InboxClock) {
    this.#queue = queue;
    this.#stage = stage;
    this.#clock = clock;
    delaySet(clock);
  }

  /** Sets all delays again if the wall clock was set since the last time, or some were set by another; at first, those that are wrong or too long. */
  async keep(): Promise<void> {
    const { wallOffset } = this.#clock;
    const before = this.#wallOffset;
    const { changes = 0 } = settings.get(this.#clock) ?? {};
    const isSame = changes === this.#changes;
    if (before !== null && isSame && Math.abs(wallOffset - before) <= slackMs) return;
    this.#wallOffset = wallOffset;
    const isBegin = before === null;
    try {
      await this.#setAll(
        isBegin && this.#stage === "verify" ? hastenedMs : Number.POSITIVE_INFINITY,
      );
      this.#changes = changes;
    } catch (error) {
      this.#wallOffset = before;
      throw error;
    }
  }

  async #setAll(most: number): Promise<void> {
    const ids = await this.#queue.getRanges(["delayed"], 0, -1, true);
    for (let from = 0; from < ids.length; from += atOnce) {
      await Promise.all(ids.slice(from, from + atOnce).map((id) => this.#set(id, most)));
    }
  }

  async #set(id: string, most: number): Promise<void> {
    const job = await this.#queue.getJob(id);
    if (job === undefined) return;
    const { stored } = foundIn(this.#stage, job).jobState;
    const missed = missedDelay(stored, this.#clock);
    const delay = Math.min(missed ?? job.delay, most);
    if (missed === null && delay === job.delay) return;
    await job.changeDelay(delay).catch((error: unknown) => {
      // It has come due.
      if (!isLost(error)) throw error;
    });
  }
}
