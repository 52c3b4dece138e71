import { hash } from "node:crypto";
import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import type { Chance } from "../surroundings/chance.ts";
import type { Happening, Owner, Time } from "../surroundings/time.ts";
import { subtle } from "./subtle.ts";

/** A bundle of the product's code, to be run any number of times. */
export type Script = (...values: readonly unknown[]) => void;

/** A realm's replacements of Node's modules. */
export type Modules = Readonly<Record<string, unknown>>;

const nodeRequire = createRequire(import.meta.url);
const own = [
  "require",
  "exports",
  "__filename",
  "globalThis",
  "process",
  "performance",
  "crypto",
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "setImmediate",
  "clearImmediate",
  "Date",
  "Math",
];

/** Compiles a CommonJS bundle; `filename` is where it says it is. */
export function compile(code: string, filename: string): Script {
  const run = compileFunction(code, own, { filename });
  return (...values) => run(...values);
}

/** A timer as Node's look from outside. */
class Timer {
  happening: Happening | undefined;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/**
 * A process, or a thread of one: code in it has no time, no timers and no randomness but the world's. Once the realm is
 * gone, nothing of it happens any more.
 */
export class Realm implements Owner {
  readonly #time: Time;
  readonly #chance: Chance;
  readonly #parent: Realm | null;
  readonly #timers = new Set<Timer>();
  #gone = false;
  #standsUntil = 0;
  #wrongMs = 0;

  constructor(time: Time, chance: Chance, parent: Realm | null = null) {
    this.#time = time;
    this.#chance = chance;
    this.#parent = parent;
  }

  get alive(): boolean {
    return !this.#gone && this.#parent?.alive !== false;
  }

  get standsUntil(): number {
    return Math.max(this.#standsUntil, this.#parent?.standsUntil ?? 0);
  }

  /** It is stopped for so long, in milliseconds, and knows nothing of it. */
  stop(ms: number): void {
    // Stopped again, it would be told in another order what waits for it.
    if (this.#standsUntil > this.#time.elapsed) return;
    this.#standsUntil = this.#time.elapsed + ms;
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size;
  }

  /** It is gone, at this very moment. */
  end(): void {
    this.#gone = true;
  }

  /** The time on its clock. */
  readonly now = (): number => this.#time.now + this.wrongMs;

  /** By how much its clock is ahead. */
  get wrongMs(): number {
    return this.#parent?.wrongMs ?? this.#wrongMs;
  }

  set wrongMs(ms: number) {
    this.#wrongMs = ms;
  }

  readonly setTimeout = (
    run: (...values: unknown[]) => void,
    ms = 0,
    ...values: unknown[]
  ): Timer => {
    const timer = new Timer();
    this.#plan(timer, Math.max(1, ms), () => {
      this.#timers.delete(timer);
      run(...values);
    });
    return timer;
  };

  readonly clearTimeout = (timer: unknown): void => {
    if (!(timer instanceof Timer) || timer.happening === undefined) return;
    timer.happening.off = true;
    this.#timers.delete(timer);
  };

  /** Where nothing else happens for long, it comes less often. */
  readonly setInterval = (run: () => void, ms: number): Timer => {
    const timer = new Timer();
    const again = (): void => {
      this.#plan(timer, Math.max(ms, Math.min(this.#time.quietMs / 2, 20 * ms)), () => {
        again();
        run();
      });
    };
    again();
    return timer;
  };

  readonly setImmediate = (run: () => void): Timer => {
    const timer = new Timer();
    this.#plan(timer, this.#chance.fraction() / 20, () => {
      this.#timers.delete(timer);
      run();
    });
    return timer;
  };

  /** Runs a script; returns what it exports. */
  run(script: Script, filename: string, modules: Modules = {}): Record<string, unknown> {
    const exported: Record<string, unknown> = {};
    const { setTimeout, clearTimeout, setInterval, setImmediate } = this;
    const timers = { setTimeout, clearTimeout, setInterval, clearInterval: clearTimeout };
    const allTimers = { ...timers, setImmediate, clearImmediate: clearTimeout };
    const crypto = {
      hash,
      subtle,
      getRandomValues: <T extends ArrayBufferView>(array: T): T => this.#chance.fill(array),
      randomInt: (...bounds: [end: number] | [least: number, end: number]): number => {
        const [end = 0, least = 0] = bounds.reverse();
        return least + Math.floor(this.#chance.fraction() * (end - least));
      },
    };
    const all: Modules = { "node:timers": allTimers, "node:crypto": crypto, ...modules };
    const require = (name: string): unknown => all[name] ?? nodeRequire(name);
    const { now } = this;
    const performance = { now: (): number => this.#time.elapsed };
    const DateHere = class extends Date {
      constructor(value: number | string | Date = now()) {
        super(value);
      }
      static override now = now;
    };
    const MathHere = Object.create(Math, { random: { value: () => this.#chance.fraction() } });
    const process = Object.create(globalThis.process, {
      emitWarning: { value: () => {}, writable: true },
      getBuiltinModule: { value: (name: string) => all[name] },
    });
    const ofRealm = { ...allTimers, performance, crypto, Date: DateHere, Math: MathHere, process };
    // Defined, not assigned: some of them have setters, which would replace the real ones.
    const global = Object.create(globalThis);
    // Receivers of the test's own process are none of this one.
    for (const name of ["reporthook.receivers", "reporthook.inboxes"]) {
      Object.defineProperty(global, Symbol.for(name), { value: undefined, writable: true });
    }
    for (const [name, value] of Object.entries(ofRealm)) {
      Object.defineProperty(global, name, { value, writable: true });
    }
    script(
      ...[require, exported, filename, global, process, performance, crypto],
      ...[setTimeout, clearTimeout, setInterval, clearTimeout, setImmediate],
      ...[clearTimeout, DateHere, MathHere],
    );
    return exported;
  }

  #plan(timer: Timer, ms: number, run: () => void): void {
    this.#timers.add(timer);
    timer.happening = this.#time.in(ms, run, this);
  }
}
