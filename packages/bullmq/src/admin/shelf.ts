import type { ReasonCode } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import type { Found } from "../queues/found.ts";
import { type Place, parkedQueues } from "../queues/places.ts";
import { parkedPriorities } from "../queues/priority.ts";
import type { ReceiverQueues } from "../queues/queues.ts";
import type { JobType } from "./by-state.ts";

/** The jobs of one type in a queue, and with a priority those that have it: the oldest first. */
export class Shelf {
  readonly queues: ReceiverQueues;
  readonly place: Place;
  readonly type: JobType;
  /** Null: those with any, and without. */
  readonly priority: number | null;

  constructor(queues: ReceiverQueues, place: Place, type: JobType, priority: number | null = null) {
    this.queues = queues;
    this.place = place;
    this.type = type;
    this.priority = priority;
  }

  /** The ids from an index on, at most so many. */
  async ids(from: number, most: number): Promise<string[]> {
    const queue = this.queues.of(this.place);
    if (this.priority === null) return queue.getRanges([this.type], from, from + most - 1, true);
    const counts = await queue.getCountsPerPriority([...parkedPriorities.values()]);
    const count = Math.min((counts[this.priority] ?? 0) - from, most);
    if (count <= 0) return [];
    let before = from;
    for (const other of parkedPriorities.values()) {
      if (other < this.priority) before += counts[other] ?? 0;
    }
    return queue.getRanges([this.type], before, before + count - 1, true);
  }

  /** The delivery at an index; null if it has left meanwhile. */
  async at(index: number): Promise<Found | null> {
    const [id] = await this.ids(index, 1);
    return id === undefined ? null : this.queues.findIn(this.place, id);
  }

  /** The index of the first for which something holds, if it holds for all after it; else their number. */
  async indexOf(holds: (stored: StoredDelivery) => boolean): Promise<number> {
    let [from, to] = [0, await this.#count()];
    while (from < to) {
      const middle = (from + to) >> 1;
      const found = await this.at(middle);
      if (found !== null && holds(found.jobState.stored)) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  async #count(): Promise<number> {
    const queue = this.queues.of(this.place);
    if (this.priority === null) return queue.getJobCountByTypes(this.type);
    return (await queue.getCountsPerPriority([this.priority]))[this.priority] ?? 0;
  }
}

/** The deliveries that are parked in a queue for a reason. */
export function parkedShelf(queues: ReceiverQueues, place: Place, reason: ReasonCode): Shelf {
  return new Shelf(queues, place, "prioritized", parkedPriorities.get(reason) ?? 0);
}

/** The shelves of parked deliveries that are not empty, each with its reason and number. */
export async function parkedShelves(
  queues: ReceiverQueues,
): Promise<{ readonly shelf: Shelf; readonly reason: ReasonCode; readonly count: number }[]> {
  const counting = parkedQueues.map(async (place) => {
    const counts = await queues.of(place).getCountsPerPriority([...parkedPriorities.values()]);
    return [...parkedPriorities].map(([reason, priority]) => {
      return { shelf: parkedShelf(queues, place, reason), reason, count: counts[priority] ?? 0 };
    });
  });
  return (await Promise.all(counting)).flat().filter(({ count }) => count > 0);
}

/** Whether the end of a parked delivery was not announced: those whose end was come first. */
export function isUnannounced({ announcedAt }: Pick<StoredDelivery, "announcedAt">): boolean {
  return announcedAt === null;
}
