import type { Stage } from "@reporthook/core";
import type { LivedMoment } from "@reporthook/core/store";
import type { ConsumerState } from "../../protocol/protocol.ts";

/** A consumer of this process, with its credit. */
export interface ActiveConsumer extends Omit<ConsumerState, "credit"> {
  /** The credit that is left; negative if it got more deliveries than it wanted. */
  credit: number;
  /** The credit used in the running batch. */
  spent: number;
  /** The number of new deliveries of the batch that have to wait. */
  left: number;
  /** Whether nothing is due for it now. */
  drained: boolean;
  /** The next due time. */
  dueAt: number | null;
  /** Whether what it found waiting, planned by another process, was brought forward. */
  hastened: boolean;
}

/** The consumers of this process, and the state of their queues. */
export class Consumers {
  #active: readonly ActiveConsumer[] = [];
  #last: LivedMoment = { now: 0, wallOffset: 0 };

  get size(): number {
    return this.#active.length;
  }

  /** The last known time of a receiver; of another one, when it has no consumer here. */
  readonly momentOf = (receiver: string): LivedMoment =>
    this.#active.find((one) => one.receiver === receiver) ?? this.#last;

  /** Updates the states of all consumers; those without one have ended. */
  update(states: readonly ConsumerState[]): void {
    this.#last = states[0] ?? this.#last;
    this.#active = states.map((state) => {
      const known = this.#active.find(({ consumer }) => consumer === state.consumer);
      const credit = state.credit + (known?.credit ?? 0);
      const { drained = false, dueAt = null, hastened = false } = known ?? {};
      return { ...state, credit, spent: 0, left: 0, drained, dueAt, hastened };
    });
  }

  /** The consumers of the verify stage that have just begun. */
  begun(): readonly ActiveConsumer[] {
    return this.#active.filter(({ hastened, stage }) => stage === "verify" && !hastened);
  }

  /** The consumers with credit whose queues may not be empty. */
  toServe(): readonly ActiveConsumer[] {
    return this.#active.filter((one) => one.credit > one.spent && !hasNothingDue(one));
  }

  /** For consumers with credit left: the due time of the next delivery, which is now if some have to wait. */
  due(): { readonly consumer: number; readonly at: number | null }[] {
    return this.#active
      .filter(({ credit, spent }) => credit > spent)
      .map(({ consumer, drained, dueAt, now }) => ({ consumer, at: drained ? dueAt : now }));
  }

  /** The consumer that claims a new delivery, if it is the first in order or nothing else is due; null if it has to wait. */
  claimant(receiver: string, stage: Stage, isFirst: boolean): ActiveConsumer | null {
    for (const one of this.#active) {
      if (one.receiver !== receiver || one.stage !== stage) continue;
      if (one.credit > one.spent && (isFirst || hasNothingDue(one))) return one;
    }
    return null;
  }

  /** Marks the queues of all consumers as unknown. */
  invalidate(): void {
    for (const one of this.#active) one.drained = false;
  }

  /** Notes that a new delivery waits: until `dueAt`, or for credit. */
  noteWaiting(receiver: string, stage: Stage, dueAt: number | null): void {
    for (const one of this.#active) {
      if (one.receiver !== receiver || one.stage !== stage) continue;
      if (dueAt !== null) {
        one.dueAt = Math.min(dueAt, one.dueAt ?? dueAt);
      } else {
        one.drained = false;
        one.left++;
      }
    }
  }

  /** Ends a batch: deducts the used credit. */
  commit(): void {
    for (const one of this.#active) {
      one.credit -= one.spent;
      one.spent = 0;
      one.left = 0;
    }
  }

  /** Ends a failed batch: no credit was used, and the queues are unknown. */
  rollBack(): void {
    for (const one of this.#active) {
      one.spent = 0;
      one.hastened = false;
    }
    this.commit();
    this.invalidate();
  }
}

function hasNothingDue({ drained, dueAt, now }: ActiveConsumer): boolean {
  return drained && (dueAt === null || dueAt > now);
}
