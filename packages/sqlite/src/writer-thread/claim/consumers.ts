import type { Stage } from "@reporthook/core";
import type { LivedMoment } from "@reporthook/core/store";
import type { ConsumerState } from "../../protocol/protocol.ts";

/** A consumer of this process, with its credit. */
export interface ActiveConsumer {
  /** As it was told last. */
  state: ConsumerState;
  /** Whether it was told in the running batch, and so the time by which it is served. */
  isListed: boolean;
  /** Whether its next due time may have changed since that was told. */
  hasNews: boolean;
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

/** The consumers of this process, and the state of their queues. A batch has work for those that it lists, and for no others. */
export class Consumers {
  readonly #byReceiver = new Map<string, readonly ActiveConsumer[]>();
  #all: readonly ActiveConsumer[] = [];
  #last: LivedMoment = { now: 0, wallOffset: 0 };

  get size(): number {
    return this.#all.length;
  }

  /** The last known time of a receiver; of another one, when it has no consumer here. */
  readonly momentOf = (receiver: string): LivedMoment =>
    this.#byReceiver.get(receiver)?.[0]?.state ?? this.#last;

  /** Updates the states of consumers that have begun or ended, or want to be served. */
  update(states: readonly ConsumerState[]): void {
    for (const state of states) {
      this.#last = state;
      const ofReceiver = this.#byReceiver.get(state.receiver) ?? [];
      const known = ofReceiver.find((one) => one.state.consumer === state.consumer);
      if (known === undefined || state.hasEnded) {
        const others = ofReceiver.filter((one) => one !== known);
        this.#set(state.receiver, state.hasEnded ? others : [...others, consumerOf(state)]);
      } else {
        known.state = state;
        known.credit += state.credit;
        known.isListed = true;
        known.hasNews = true;
      }
    }
  }

  /** Lists all of them, for upkeep: by the time that they were told last. */
  listAll(): void {
    for (const one of this.#all) {
      one.isListed = true;
      one.hasNews = true;
    }
  }

  /** The consumers of the verify stage that have just begun. */
  begun(): readonly ActiveConsumer[] {
    return this.#all.filter(({ hastened, state }) => state.stage === "verify" && !hastened);
  }

  /** The listed consumers with credit whose queues may not be empty. */
  toServe(): readonly ActiveConsumer[] {
    return this.#all.filter((one) => one.isListed && one.credit > one.spent && !hasNothingDue(one));
  }

  /** For consumers with credit left: the due time of the next delivery if it may be new; now if some have to wait. */
  due(): { readonly consumer: number; readonly at: number | null }[] {
    return this.#all
      .filter(({ hasNews, credit, spent }) => hasNews && credit > spent)
      .map(({ state, drained, dueAt }) => ({
        consumer: state.consumer,
        at: drained ? dueAt : state.now,
      }));
  }

  /** The consumer that claims a new delivery, if it is the first in order or nothing else is due; null if it has to wait. */
  claimant(receiver: string, stage: Stage, isFirst: boolean): ActiveConsumer | null {
    for (const one of this.#byReceiver.get(receiver) ?? []) {
      if (one.state.stage !== stage) continue;
      if (one.credit > one.spent && (isFirst || hasNothingDue(one))) return one;
    }
    return null;
  }

  /** Marks the queues of all consumers as unknown. */
  invalidate(): void {
    for (const one of this.#all) {
      one.drained = false;
      one.hasNews = true;
    }
  }

  /** Notes that a new delivery waits: until `dueAt`, or for credit. */
  noteWaiting(receiver: string, stage: Stage, dueAt: number | null): void {
    for (const one of this.#byReceiver.get(receiver) ?? []) {
      if (one.state.stage !== stage) continue;
      one.hasNews = true;
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
    for (const one of this.#all) {
      one.credit -= one.spent;
      one.spent = 0;
      one.left = 0;
      one.isListed = false;
      one.hasNews = false;
    }
  }

  /** Ends a failed batch: no credit was used, and the queues are unknown. */
  rollBack(): void {
    for (const one of this.#all) {
      one.spent = 0;
      one.hastened = false;
    }
    this.commit();
    this.invalidate();
  }

  #set(receiver: string, consumers: readonly ActiveConsumer[]): void {
    if (consumers.length > 0) this.#byReceiver.set(receiver, consumers);
    else this.#byReceiver.delete(receiver);
    this.#all = [...this.#byReceiver.values()].flat();
  }
}

function consumerOf(state: ConsumerState): ActiveConsumer {
  const unknown = { drained: false, dueAt: null, hastened: false };
  return {
    state,
    isListed: true,
    hasNews: true,
    credit: state.credit,
    spent: 0,
    left: 0,
    ...unknown,
  };
}

function hasNothingDue({ drained, dueAt, state }: ActiveConsumer): boolean {
  return drained && (dueAt === null || dueAt > state.now);
}
