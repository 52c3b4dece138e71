import { type Arrival, type NewDelivery, ReporthookError } from "@reporthook/core";
import { countIn, namesOf, type Tally } from "../protocol/counts.ts";

const maxDeliveries = 10_000;
const maxBytes = 64 * 1_024 * 1_024;

/** A delivery that is on its way to the file. */
export interface PendingDelivery {
  readonly delivery: NewDelivery;
  readonly arrival: Arrival;
  readonly kind: number;
  readonly bytes: number;
}

/** The deliveries that are on their way to the file: their counts and bytes. */
export class Pending {
  readonly #tallies = new Map<string, Record<string, number>>();
  #deliveries = 0;
  #bytes = 0;

  tallyOf(receiver: string): Tally | undefined {
    return this.#tallies.get(receiver);
  }

  /** @throws ReporthookError `overloaded` when there are too many */
  add(pending: PendingDelivery): void {
    if (this.#deliveries >= maxDeliveries || this.#bytes + pending.bytes > maxBytes) {
      throw new ReporthookError(
        "overloaded",
        `${this.#deliveries} deliveries wait to be stored: the disk does not keep up`,
      );
    }
    this.#change(pending, 1);
  }

  remove(pending: PendingDelivery): void {
    this.#change(pending, -1);
  }

  #change({ delivery, kind, bytes }: PendingDelivery, by: 1 | -1): void {
    countIn(this.#tallies, delivery.receiver, namesOf(kind), by);
    this.#deliveries += by;
    this.#bytes += by * bytes;
  }
}
