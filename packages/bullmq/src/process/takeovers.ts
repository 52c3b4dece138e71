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
    this.#timer = setInterval(() => void this.#sample().catch(() => {}), sampleMs).unref();
  }

  /** Notes that this process has given a job back to its queue, for others have let its lock expire. */
  add(id: string): void {
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
  }

  #tellAll(): void {
    const counts = this.#counts;
    this.#counts = new Map();
    for (const [process, deliveries] of counts) {
      this.#tell({ what: "took_over", process, deliveries, silentMs: this.#silentMs });
    }
  }
}
