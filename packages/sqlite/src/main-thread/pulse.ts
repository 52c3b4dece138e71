import { closeSync, fstatSync } from "node:fs";
import { clearInterval, setInterval } from "node:timers";
import { Standstill, signMs } from "@reporthook/core/store";

/** Shows the writer's thread that the event loop of this one turns. */
export class Pulse {
  /** Two 32-bit numbers: the first is counted up each second; the second is the thread's descriptor of the log's index, plus 1. */
  readonly memory: SharedArrayBuffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  readonly #standstill: Standstill;
  readonly #timer: ReturnType<typeof setInterval>;

  /** `report` is told for how long it stood still, and whether its deliveries were handed on. */
  constructor(report: (ms: number, isHandedOn: boolean) => void) {
    this.#standstill = new Standstill(report);
    const count = new Int32Array(this.memory);
    this.#timer = setInterval(() => {
      Atomics.add(count, 0, 1);
      this.#standstill.sign();
    }, signMs).unref();
  }

  /** Notes that leases are lost; returns false if that was not because the event loop stood still. */
  leasesLost(): boolean {
    return this.#standstill.handedOn();
  }

  /** Call it when the thread has ended. */
  end(): void {
    clearInterval(this.#timer);
    const index = Atomics.load(new Int32Array(this.memory), 1) - 1;
    // Nobody has locks on an index that was deleted; of another one, closing it would drop those of this process.
    if (index >= 0 && isDeleted(index)) closeSync(index);
  }
}

function isDeleted(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).nlink === 0;
  } catch {
    // Deno numbers the descriptors of each thread by itself.
    return false;
  }
}
