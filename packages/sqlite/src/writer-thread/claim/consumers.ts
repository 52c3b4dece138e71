import type { Stage } from "@reporthook/core";
import type { LaneState } from "../../protocol/protocol.ts";

/** A consumer of one receiver's stage, as the thread sees it. */
export interface Lane {
  readonly lane: number;
  readonly receiver: string;
  readonly stage: Stage;
  /** By its receiver's clock. */
  readonly now: number;
  /** How many more it takes; negative when more came than it still wanted. */
  places: number;
  /** How many of these the transaction that runs has taken. */
  taken: number;
  /** How many it has left waiting, of those that came in it. */
  left: number;
  /** Nothing is known to wait for it but what comes due later. */
  calm: boolean;
  /** When the first of that comes due. */
  dueAt: number | null;
}

/** The consumers of this process. */
export class Lanes {
  #lanes: ReadonlyMap<number, Lane> = new Map();

  get size(): number {
    return this.#lanes.size;
  }

  /** What a receiver's clock said last; what the system's says, when it does no work here. */
  nowOf(receiver: string): number {
    const its = [...this.#lanes.values()].find((lane) => lane.receiver === receiver);
    return its?.now ?? Date.now();
  }

  /** Takes in how they stand; those that are not told of have ended. */
  enter(states: readonly LaneState[]): void {
    this.#lanes = new Map(
      states.map(({ lane, places, ...state }) => {
        const known = this.#lanes.get(lane);
        const { calm = false, dueAt = null } = known ?? {};
        return [
          lane,
          { ...state, lane, calm, dueAt, taken: 0, left: 0, places: places + (known?.places ?? 0) },
        ];
      }),
    );
  }

  /** Those with places, and without knowledge that nothing waits. */
  *asking(): Iterable<Lane> {
    for (const lane of this.#lanes.values()) {
      if (lane.places > lane.taken && !isCalm(lane)) yield lane;
    }
  }

  /** Of those with places left: when the first comes due; now, while more waits than was handed out. */
  due(): { readonly lane: number; readonly at: number | null }[] {
    return [...this.#lanes.values()]
      .filter(({ places, taken }) => places > taken)
      .map(({ lane, calm, dueAt, now }) => ({ lane, at: calm ? dueAt : now }));
  }

  /** Who takes a delivery that has just come, since nothing waits before it; null when it has to wait itself. */
  taker(receiver: string, stage: Stage): Lane | null {
    for (const lane of this.#lanes.values()) {
      const fits = lane.receiver === receiver && lane.stage === stage;
      if (fits && lane.places > lane.taken && isCalm(lane)) return lane;
    }
    return null;
  }

  /** Something waits now, for any lane. */
  disturb(): void {
    for (const lane of this.#lanes.values()) lane.calm = false;
  }

  /** One that has just come waits now. */
  leave(receiver: string, stage: Stage): void {
    for (const lane of this.#lanes.values()) {
      if (lane.receiver !== receiver || lane.stage !== stage) continue;
      lane.calm = false;
      lane.left++;
    }
  }

  /** Something comes due then. */
  postpone(receiver: string, stage: Stage, dueAt: number): void {
    for (const lane of this.#lanes.values()) {
      if (lane.receiver !== receiver || lane.stage !== stage) continue;
      lane.dueAt = Math.min(dueAt, lane.dueAt ?? dueAt);
    }
  }

  /** What the transaction has taken is taken. */
  commit(): void {
    for (const lane of this.#lanes.values()) {
      lane.places -= lane.taken;
      lane.taken = 0;
      lane.left = 0;
    }
  }

  /** Nothing was taken, and nothing is known. */
  rollBack(): void {
    for (const lane of this.#lanes.values()) {
      lane.taken = 0;
      lane.left = 0;
      lane.calm = false;
    }
  }
}

function isCalm({ calm, dueAt, now }: Lane): boolean {
  return calm && (dueAt === null || dueAt > now);
}
