import type { ReceiverOptions } from "@reporthook/core";
import type { Chance } from "./surroundings/chance.ts";
import type { Kinds } from "./surroundings/notification.ts";

/** The kind of world that a seed makes. */
export interface Setup {
  readonly store: "sqlite" | "memory";
  readonly options: Pick<
    ReceiverOptions,
    "ack" | "verify" | "expired" | "reusedSignature" | "retry" | "concurrency" | "handlerTimeoutMs"
  >;
  /** How many processes share the inbox. */
  readonly processes: 1 | 2;
  /** Whether a handler takes any event, the unknown ones too. */
  readonly takesAll: boolean;
  /** How long notifications come and faults begin, in milliseconds. */
  readonly lengthMs: number;
  readonly notifications: number;
  readonly kinds: Kinds;
  /** How many reports are asked for; 0 in worlds that know none. */
  readonly wishes: number;
  /** Whether faults may last so long that signatures expire. */
  readonly isLong: boolean;
  /** Whether clocks are set while processes run, and are wrong when they begin. */
  readonly hasWrongClocks: boolean;
  /** Whether the receiver is given its clock, or takes the system's. */
  readonly givesClock: boolean;
}

/** How often a handler is tried. */
export const attempts = 4;

/** Decides what kind of world it is; `customers` decides where reports are asked for. */
export function newSetup(chance: Chance, clocks: Chance, customers: Chance | null): Setup {
  const keeps = chance.yes(93) || customers !== null;
  const store = keeps && chance.yes(85) ? "sqlite" : "memory";
  const processes = store === "sqlite" && chance.yes(25) ? 2 : 1;
  // Two would keep each other awake for hours.
  const isLong = processes === 1 && chance.yes(7);
  return {
    store,
    processes,
    options: {
      ack: keeps ? "stored" : "handled",
      verify: chance.yes(70) ? "after-ack" : "before-ack",
      expired: chance.yes(50) ? "hold" : "handle-after-outage",
      reusedSignature: chance.yes(70) ? "accept" : "hold",
      retry: { attempts, minMs: 500, maxMs: 8_000 },
      concurrency: { verify: chance.one([1, 2, 16]), handle: chance.one([1, 2, 8]) },
      handlerTimeoutMs: 20_000,
    },
    takesAll: chance.yes(70),
    lengthMs: chance.between(8_000, 40_000),
    notifications: customers === null ? chance.between(6, 26) : chance.below(6),
    wishes: customers === null ? 0 : customers.between(2, 9),
    kinds: {
      genuine: 55,
      unknown: 4,
      garbled: 3,
      reused: 4,
      late: 3,
      misjudged: 2,
      forged: 18,
      unsigned: 4,
      test: 7,
    },
    isLong,
    hasWrongClocks: clocks.yes(30),
    givesClock: clocks.yes(50),
  };
}
