import type { Backlog } from "@reporthook/core";
import { countInBacklog, noBacklog, type StoredDelivery } from "@reporthook/core/store";
import { unfinished } from "../queues/places.ts";
import { lowestPriority, parkedPriorities, unsignedPriority } from "../queues/priority.ts";
import type { ReceiverQueues } from "../queues/queues.ts";

export { noBacklog } from "@reporthook/core/store";

type MutableBacklog = { -readonly [Name in keyof Backlog]: number };

/** Reports what a delivery counts for before and after a change. */
export type CountChange = (before: Backlog, after: Backlog) => void;

/** The share of one delivery in the backlog. */
export function backlogShareOf(stored: StoredDelivery): Backlog {
  const share = { ...noBacklog };
  countInBacklog(share, stored, 1);
  return share;
}

/** One backlog with another one added to it `times` times. */
function sumOf(one: Backlog, other: Backlog, times: 1 | -1): Backlog {
  const sum: MutableBacklog = { ...one };
  for (const name of Object.keys(one) as (keyof Backlog)[]) sum[name] += times * other[name];
  return sum;
}

const refreshMs = 1_000;
/** The part of a server's time that counting may cost: PostgreSQL counts row by row. */
const share = 1 / 20;

/** Keeps the backlog of a receiver: as counted at most a second ago, with the changes of this process since. */
export class BacklogMeter {
  readonly #queues: () => Promise<ReceiverQueues>;
  #numbers: MutableBacklog = { ...noBacklog };
  /** Additions in progress, counted in case they succeed. */
  readonly #expected: MutableBacklog = { ...noBacklog };
  /** When unsigned deliveries come due that this process postponed, by its running time: BullMQ does not count them separately. */
  readonly #putOff = new Map<string, number>();
  #under = 0;
  #changes = 0;
  #next = Number.NEGATIVE_INFINITY;
  #counting = false;

  constructor(queues: () => Promise<ReceiverQueues>) {
    this.#queues = queues;
  }

  /** The current backlog; counts the queues again when that is due. */
  read(): Backlog {
    if (!this.#counting && performance.now() >= this.#next) void this.#count();
    return sumOf(this.#numbers, this.#expected, 1);
  }

  /** Runs a change of the queues; its `expects` count from now on, so that concurrent requests see them. */
  async change<T>(
    run: (change: CountChange) => Promise<T>,
    expects: Backlog = noBacklog,
  ): Promise<T> {
    this.#under++;
    this.#changes++;
    Object.assign(this.#expected, sumOf(this.#expected, expects, 1));
    try {
      return await run((before, after) => {
        this.#numbers = sumOf(sumOf(this.#numbers, after, 1), before, -1);
      });
    } finally {
      this.#under--;
      Object.assign(this.#expected, sumOf(this.#expected, expects, -1));
    }
  }

  /** Runs the recording of an outcome; `before` is the delivery's share before it. */
  record(stored: StoredDelivery, before: Backlog, run: () => Promise<boolean>): Promise<boolean> {
    return this.change(async (change) => {
      const recorded = await run();
      if (!recorded) return false;
      const after = backlogShareOf(stored);
      change(before, after);
      const dueAt = performance.now() + stored.dueAt - stored.changedAt;
      if (after.unsignedWaiting > 0) this.#putOff.set(stored.id, dueAt);
      else this.#putOff.delete(stored.id);
      return true;
    });
  }

  #stillPutOff(): number {
    const now = performance.now();
    for (const [id, dueAt] of this.#putOff) if (dueAt <= now) this.#putOff.delete(id);
    return this.#putOff.size;
  }

  async #count(): Promise<void> {
    this.#counting = true;
    const began = performance.now();
    const before = this.#changes - this.#under;
    try {
      const counted = await countBacklog(await this.#queues());
      counted.unsignedWaiting += this.#stillPutOff();
      // Concurrent changes may be in the count or not: differences that they explain are ignored.
      const unsure = this.#changes - before;
      for (const [name, count] of Object.entries(counted) as [keyof Backlog, number][]) {
        if (Math.abs(count - this.#numbers[name]) > unsure) this.#numbers[name] = count;
      }
      this.#next = performance.now() + Math.max(refreshMs, (performance.now() - began) / share);
    } catch {
      this.#next = performance.now() + refreshMs;
    }
    this.#counting = false;
  }
}

function unfinishedOf(counts: Readonly<Record<string, number>>): number {
  return unfinished.reduce((sum, type) => sum + (counts[type] ?? 0), 0);
}

async function countBacklog(queues: ReceiverQueues): Promise<MutableBacklog> {
  const [verify, held] = [queues.of("verify"), queues.of("held")];
  const [unsigned = 0, noToken = 0] = (["unsigned", "no_token"] as const).map((reason) =>
    parkedPriorities.get(reason),
  );
  const [toVerify, yielding, toHandle, unsignedOnes, parked] = await Promise.all([
    verify.getJobCounts(...unfinished),
    verify.getCountsPerPriority([lowestPriority]),
    queues.of("handle").getJobCountByTypes(...unfinished),
    queues.of("handle").getCountsPerPriority([unsignedPriority]),
    held.getCountsPerPriority([unsigned, noToken]),
  ]);
  const later = (toVerify["delayed"] ?? 0) + (yielding[lowestPriority] ?? 0);
  return {
    waiting: unfinishedOf(toVerify) + toHandle,
    unverified: unfinishedOf(toVerify) - later,
    unsignedWaiting: unsignedOnes[unsignedPriority] ?? 0,
    unsignedHeld: parked[unsigned] ?? 0,
    // BullMQ can't tell them apart before their verdict, which takes a moment.
    withoutToken: parked[noToken] ?? 0,
  };
}
