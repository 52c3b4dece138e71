import { clearInterval, setInterval } from "node:timers";
import { Standstill, signMs } from "@reporthook/core/store";
import type { ConsumerGroup } from "./consumer-group.ts";

/** Shows the writer's thread that the event loop of this one turns. */
export class Pulse {
  /** A 32-bit number, counted up each second. */
  readonly memory: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #standstill: Standstill;
  readonly #timer: ReturnType<typeof setInterval>;

  /** The consumers are told when it stood still. */
  constructor(consumers: ConsumerGroup) {
    this.#standstill = new Standstill((ms, isHandedOn) =>
      consumers.notice({ what: "stood_still", ms, isHandedOn }),
    );
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

  end(): void {
    clearInterval(this.#timer);
  }
}
