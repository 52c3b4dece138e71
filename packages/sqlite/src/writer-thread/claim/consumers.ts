import type { Stage } from "@reporthook/core";
import type { LivedMoment } from "@reporthook/core/store";
import type { Queued } from "../../protocol/position.ts";
import type { Claimed, ConsumerState } from "../../protocol/protocol.ts";

/** A consumer of this process. */
export interface ActiveConsumer {
  /** As the main thread has sent it last. */
  state: ConsumerState;
  /** The credit that is left; negative if it got more deliveries than it wanted. */
  credit: number;
  /** When the first of its deliveries is due; -Infinity if one may be due now, Infinity if none waits. */
  dueAt: number;
  /** The same as the main thread knows it; null if it has to be told. */
  toldDueAt: number | null;
  /** The number of deliveries of the running batch that have to wait. */
  left: number;
}

/** The consumers of this process: their credit, and when their next deliveries are due. */
export class Consumers {
  readonly #byReceiver = new Map<string, readonly ActiveConsumer[]>();
  #all: readonly ActiveConsumer[] = [];
  /** The consumers that the running batch may serve or has to tell: looking at all of them takes longer the more there are. */
  readonly #changed = new Set<ActiveConsumer>();
  #begun: ActiveConsumer[] = [];
  #last: LivedMoment = { now: 0, wallOffset: 0 };

  get size(): number {
    return this.#all.length;
  }

  /** The consumers that have begun since the last commit. */
  get begun(): readonly ActiveConsumer[] {
    return this.#begun;
  }

  /** The last known time of a receiver; of another one, when it has no consumer here. */
  momentOf(receiver: string): LivedMoment {
    return this.#byReceiver.get(receiver)?.[0]?.state ?? this.#last;
  }

  /** Takes over the states that the main thread has sent, and the credit that they add. */
  update(states: readonly ConsumerState[]): void {
    for (const state of states) {
      this.#last = state;
      const ofReceiver = this.#byReceiver.get(state.receiver) ?? [];
      const known = ofReceiver.find((one) => one.state.consumer === state.consumer);
      if (state.hasEnded) {
        if (known !== undefined) this.#changed.delete(known);
        this.#set(
          state.receiver,
          ofReceiver.filter((one) => one !== known),
        );
      } else if (known === undefined) {
        const begun = { state, credit: state.credit, dueAt: -Infinity, toldDueAt: null, left: 0 };
        this.#begun.push(begun);
        this.#changed.add(begun);
        this.#set(state.receiver, [...ofReceiver, begun]);
      } else {
        known.state = state;
        known.credit += state.credit;
        known.toldDueAt = null;
        this.#changed.add(known);
      }
    }
  }

  /** The consumers with credit for which something may be due. */
  toServe(): readonly ActiveConsumer[] {
    return [...this.#changed].filter(mayBeServed);
  }

  /** The due times that the main thread does not know, of consumers with credit: others ask once they have some. */
  takeDue(): { readonly consumer: number; readonly at: number }[] {
    const untold = [...this.#changed].filter(
      (one) => one.credit > 0 && one.dueAt !== one.toldDueAt,
    );
    for (const one of untold) one.toldDueAt = one.dueAt;
    return untold.map(({ state, dueAt }) => ({ consumer: state.consumer, at: dueAt }));
  }

  /** The consumer that can have a delivery at once, if this is the first in order or nothing else is due; else null. */
  readyFor(receiver: string, stage: Stage, isFirst: boolean): ActiveConsumer | null {
    const ofReceiver = this.#byReceiver.get(receiver) ?? [];
    const isReady = (one: ActiveConsumer): boolean =>
      one.state.stage === stage && one.credit > 0 && (isFirst || !isDue(one));
    return ofReceiver.find(isReady) ?? null;
  }

  /** Has all consumers look for what is due: the file has changed otherwise than by their deliveries. */
  invalidate(): void {
    for (const one of this.#all) {
      one.dueAt = -Infinity;
      this.#changed.add(one);
    }
  }

  /** Notes that a delivery of the batch waits: until it is due, or for credit. */
  noteWaiting(receiver: string, { stage, dueAt }: Queued): void {
    for (const one of this.#byReceiver.get(receiver) ?? []) {
      if (one.state.stage !== stage) continue;
      one.dueAt = Math.min(one.dueAt, dueAt ?? -Infinity);
      this.#changed.add(one);
      if (dueAt === null) one.left++;
    }
  }

  /** Ends a batch. */
  commit(): void {
    this.#begun = [];
    for (const one of this.#changed) {
      one.left = 0;
      if (!mayBeServed(one)) this.#changed.delete(one);
    }
  }

  /** Ends a batch that has failed: gives back the credit of what was claimed. Nobody knows what is due, nor is told. */
  rollBack(claimed: readonly Claimed[]): void {
    for (const one of this.#all) {
      const own = claimed.filter(({ consumer }) => consumer === one.state.consumer);
      one.credit += own.reduce((sum, { cost }) => sum + cost, 0);
      one.left = 0;
      one.toldDueAt = null;
    }
    this.invalidate();
  }

  #set(receiver: string, consumers: readonly ActiveConsumer[]): void {
    if (consumers.length > 0) this.#byReceiver.set(receiver, consumers);
    else this.#byReceiver.delete(receiver);
    this.#all = [...this.#byReceiver.values()].flat();
  }
}

function mayBeServed(one: ActiveConsumer): boolean {
  return one.credit > 0 && isDue(one);
}

/** Whether something may be due for a consumer. */
function isDue({ dueAt, state }: ActiveConsumer): boolean {
  return dueAt <= state.now;
}
