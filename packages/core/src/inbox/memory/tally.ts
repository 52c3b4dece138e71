import { type Job, type State, states } from "../delivery.ts";
import type { Counts, Load } from "../inbox.ts";
import { noCounts } from "../query.ts";

/** What is counted of an entry. */
interface Counted {
  readonly receiver: string;
  readonly state: State;
  readonly verification: Job["verification"];
  readonly giveWay: boolean;
}

type Numbers = Record<State | "givingWay" | "unsignedWaiting" | "unsignedHeld", number>;

/** Counts entries as they come, change and go, so that nobody has to scan. */
export class MemoryTally {
  readonly #byReceiver = new Map<string, Numbers>();

  /** One more of its kind, or one less. */
  count({ receiver, state, verification, giveWay }: Counted, by: 1 | -1): void {
    const numbers = this.#numbers(receiver);
    numbers[state] += by;
    if (state === "received" && giveWay) numbers.givingWay += by;
    if (state === "verified" && verification === "unsigned") numbers.unsignedWaiting += by;
    if (state === "held" && verification === "unsigned") numbers.unsignedHeld += by;
  }

  counts(receiver?: string): Counts {
    const chosen =
      receiver === undefined ? [...this.#byReceiver.values()] : [this.#numbers(receiver)];
    const sum = (state: State): number => chosen.reduce((total, one) => total + one[state], 0);
    return Object.fromEntries(states.map((state) => [state, sum(state)])) as Counts;
  }

  load(receiver: string): Load {
    const numbers = this.#numbers(receiver);
    return {
      waiting: numbers.received + numbers.verified,
      unverified: numbers.received - numbers.givingWay,
      unsignedWaiting: numbers.unsignedWaiting,
      unsignedHeld: numbers.unsignedHeld,
    };
  }

  #numbers(receiver: string): Numbers {
    let numbers = this.#byReceiver.get(receiver);
    if (numbers === undefined) {
      numbers = {
        ...noCounts(),
        ...{ givingWay: 0, unsignedWaiting: 0, unsignedHeld: 0 },
      };
      this.#byReceiver.set(receiver, numbers);
    }
    return numbers;
  }
}
