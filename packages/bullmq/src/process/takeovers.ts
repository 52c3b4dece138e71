import { clearInterval, setImmediate, setInterval } from "node:timers";
import type { InboxNotice } from "@reporthook/core";

const sampleMs = 1_000;

/** Remembers which process runs which job: once a job has come back to its queue, it no longer tells. */
export class Takeovers {
  readonly #findOwners: () => Promise<ReadonlyMap<string, string>>;
  readonly #silentMs: number;
  readonly #tell: (notice: InboxNotice) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  #owners: readonly ReadonlyMap<string, string>[] = [];
  #heardAt: number = performance.now();
  #silenceAt = Number.NEGATIVE_INFINITY;
  #counts = new Map<string, number>();

  /**
   * `findOwners` resolves to the name of the process of each running job of the queue, by id. A process that has lost its jobs was
   * silent for `silentMs` milliseconds.
   */
  constructor(
    findOwners: () => Promise<ReadonlyMap<string, string>>,
    silentMs: number,
    tell: (notice: InboxNotice) => void,
  ) {
    this.#findOwners = findOwners;
    this.#silentMs = silentMs;
    this.#tell = tell;
    // Without an answer, the last ones count.
    const sample = (): void => void this.#sample().catch(() => {});
    this.#timer = setInterval(sample, Math.min(sampleMs, silentMs / 5)).unref();
  }

  /**
   * Notes that this process has given a job back to its queue, for its lock has expired. That tells nothing of another process if
   * the server, or this process, stood still: then no lock was extended, those of this process neither.
   */
  add(id: string): void {
    this.#noteSilence();
    if (performance.now() - this.#silenceAt < this.#silentMs) return;
    const owner = this.#owners.map((owners) => owners.get(id)).find(Boolean) ?? "unknown";
    if (this.#counts.size === 0) setImmediate(() => this.#tellAll());
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1);
  }

  end(): void {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    // The one before, too: it may be of the moment right after a job was given back.
    this.#owners = [await this.#findOwners(), ...this.#owners].slice(0, 2);
    this.#noteSilence();
    this.#heardAt = performance.now();
  }

  #noteSilence(): void {
    const now = performance.now();
    if (now - this.#heardAt > this.#silentMs / 2) this.#silenceAt = now;
  }

  #tellAll(): void {
    const counts = this.#counts;
    this.#counts = new Map();
    for (const [process, deliveries] of counts) {
      this.#tell({ what: "took_over", process, deliveries, silentMs: this.#silentMs });
    }
  }
}
