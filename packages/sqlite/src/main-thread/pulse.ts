import { closeSync, fstatSync } from "node:fs";
import { clearInterval, setInterval } from "node:timers";
import { signMs, tryGet } from "@reporthook/core/store";

/** Shows the writer's thread that the event loop of this one turns. */
export class Pulse {
  /** Two 32-bit numbers: the first is counted up each second; the second is the thread's descriptor of the log's index, plus 1. */
  readonly memory: SharedArrayBuffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  readonly #numbers = new Int32Array(this.memory);
  readonly #timer = setInterval(() => Atomics.add(this.#numbers, 0, 1), signMs).unref();

  /** Call it when the thread has ended. */
  end(): void {
    clearInterval(this.#timer);
    const index = Atomics.load(this.#numbers, 1) - 1;
    // Nobody has locks on an index that was deleted; of another one, closing it would drop those of this process.
    // Deno numbers the descriptors of each thread by itself.
    if (index >= 0 && tryGet(() => fstatSync(index).nlink) === 0) closeSync(index);
  }
}
