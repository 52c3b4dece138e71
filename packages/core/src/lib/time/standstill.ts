import { realClock } from "./real-timers.ts";

/** Milliseconds between two signs of life of an event loop. */
export const signMs = 1_000;
/** Milliseconds without a sign after which an event loop stands still, and others take over. */
export const standstillMs = 5_000;
/** Milliseconds after it goes on by which a slow server, too, has said whether others took over. */
export const slowMs = 3_000;

/** Notices that the event loop stood still, once it goes on. */
export class Standstill {
  readonly #report: (ms: number, isHandedOn: boolean) => void;
  readonly #knownMs: number;
  #signAt = realClock.now();
  #noticed: { readonly ms: number; readonly isHandedOn: boolean } | null = null;
  #goneOnAt = 0;

  /** `report` is told how long it stood still, and whether its deliveries were handed on: about that it waits for `knownMs`. */
  constructor(report: (ms: number, isHandedOn: boolean) => void, knownMs = 0) {
    this.#report = report;
    this.#knownMs = knownMs;
  }

  /** From now on a sign is given every {@link signMs}. */
  begin(): void {
    this.#signAt = realClock.now();
    this.#noticed = null;
  }

  /** Gives a sign; called every {@link signMs}. */
  sign(): void {
    const [ms, noticed] = [this.#silentMs, this.#noticed];
    this.#signAt = realClock.now();
    if (ms >= standstillMs) {
      this.#noticed = { ms, isHandedOn: noticed?.isHandedOn ?? false };
      this.#goneOnAt = this.#signAt;
    } else if (noticed?.isHandedOn || this.#signAt - this.#goneOnAt >= this.#knownMs) {
      this.#noticed = null;
      if (noticed !== null) this.#report(noticed.ms, noticed.isHandedOn);
    }
  }

  /** Whether it stood still a moment ago: until then a timeout says nothing about others. */
  get isRecent(): boolean {
    return this.#noticed !== null || this.#silentMs >= standstillMs;
  }

  /** Notes that deliveries were handed on; returns false if the event loop did not stand still. */
  handedOn(): boolean {
    if (!this.isRecent) return false;
    this.#noticed = { ms: Math.max(this.#noticed?.ms ?? 0, this.#silentMs), isHandedOn: true };
    return true;
  }

  get #silentMs(): number {
    return realClock.now() - this.#signAt;
  }
}
