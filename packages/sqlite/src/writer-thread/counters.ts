import type { Counts, Load, State, Verification } from "@reporthook/core";
import { states } from "@reporthook/core/store";
import type { Database, Statement } from "../database/driver.ts";

/** The kinds that are counted: the six states, three parts of them that are counted apart, and {@link ever}. */
const kinds = {
  ...{ received: states.indexOf("received"), verified: states.indexOf("verified") },
  ...{ givingWay: 6, unsignedVerified: 7, unsignedHeld: 8 },
} as const;

/** The kind of all that ever came: over all receivers, the last number that was given. */
export const ever = 9;

const numberOfKinds = 10;

/** What of a delivery decides its kind. */
export interface Counted {
  readonly state: State;
  readonly giveWay: boolean;
  readonly verification: Verification | null;
}

/** As which kind a delivery is counted. */
export function kindOf({ state, giveWay, verification }: Counted): number {
  const unsigned = verification === "unsigned";
  if (state === "received" && giveWay) return kinds.givingWay;
  if (state === "verified" && unsigned) return kinds.unsignedVerified;
  if (state === "held" && unsigned) return kinds.unsignedHeld;
  return states.indexOf(state);
}

/** No delivery of any kind. */
export const none: readonly number[] = new Array<number>(numberOfKinds).fill(0);

/** How many of each state there are. */
export function countsOf(numbers: readonly number[] = none): Counts {
  const of = (kind: number): number => numbers[kind] ?? 0;
  const [received, verified, handled, held, rejected, dead] = states.map((_, kind) => of(kind));
  return {
    received: (received ?? 0) + of(kinds.givingWay),
    verified: (verified ?? 0) + of(kinds.unsignedVerified),
    handled: handled ?? 0,
    held: (held ?? 0) + of(kinds.unsignedHeld),
    rejected: rejected ?? 0,
    dead: dead ?? 0,
  };
}

/** How full the inbox is for a receiver: with `numbers` stored, and `pending` on their way to the file. */
export function loadOf(numbers: readonly number[] = none, pending: readonly number[] = none): Load {
  const of = (kind: number): number => (numbers[kind] ?? 0) + (pending[kind] ?? 0);
  const unverified = of(kinds.received);
  const unsignedWaiting = of(kinds.unsignedVerified);
  return {
    waiting: unverified + of(kinds.givingWay) + of(kinds.verified) + unsignedWaiting,
    unverified,
    unsignedWaiting,
    unsignedHeld: of(kinds.unsignedHeld),
  };
}

/** Counts in the file, written once per transaction. */
export class Tally {
  readonly #add: Statement;
  readonly #all: Statement;
  #numbers = new Map<number, number[]>();
  #changes = new Map<number, number[]>();

  constructor(database: Database) {
    this.#add = database.prepare(
      "INSERT INTO tally (receiver, kind, number) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET number = number + excluded.number",
    );
    this.#all = database.prepare("SELECT receiver, kind, number FROM tally");
    this.reload();
  }

  /** Numbers by kind, of receivers by their number; with what is not committed yet. */
  get numbers(): ReadonlyMap<number, readonly number[]> {
    return this.#numbers;
  }

  /** Reads what is in the file: what other processes have counted, without what is not committed. */
  reload(): void {
    this.#numbers = new Map();
    this.#changes = new Map();
    for (const { receiver, kind, number } of this.#all.all()) {
      numbersOf(this.#numbers, Number(receiver))[Number(kind)] = Number(number);
    }
  }

  change(receiver: number, kind: number, by: number): void {
    const numbers = numbersOf(this.#numbers, receiver);
    const changes = numbersOf(this.#changes, receiver);
    numbers[kind] = (numbers[kind] ?? 0) + by;
    changes[kind] = (changes[kind] ?? 0) + by;
  }

  /** Writes the changes of this transaction; returns whether there were any. */
  flush(): boolean {
    const { size } = this.#changes;
    for (const [receiver, numbers] of this.#changes) {
      for (const [kind, number] of numbers.entries()) {
        if (number !== 0) this.#add.run(receiver, kind, number);
      }
    }
    this.#changes = new Map();
    return size > 0;
  }
}

function numbersOf(map: Map<number, number[]>, receiver: number): number[] {
  let numbers = map.get(receiver);
  if (numbers === undefined) {
    numbers = [...none];
    map.set(receiver, numbers);
  }
  return numbers;
}
