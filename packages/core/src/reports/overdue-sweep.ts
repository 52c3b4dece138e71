import { setUnrefTimeout } from "../lib/time/clock.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import type { KnownRequests } from "./known-requests.ts";
import { addOverdue } from "./own-deliveries.ts";

const pauseMs = 1_000;
const atOnce = 100;

/** Looks for requests that are due and not settled, and has each told as overdue. */
export class OverdueSweep {
  readonly #settings: ReceiverSettings;
  readonly #requests: KnownRequests;
  #timer: unknown;
  #isStopped = false;
  #telling: Promise<void> = Promise.resolve();

  constructor(settings: ReceiverSettings, requests: KnownRequests) {
    this.#settings = settings;
    this.#requests = requests;
  }

  /** Looks each second from now on, if callback URLs are made here. */
  begin(onError: (error: unknown) => void): void {
    const { callback, clock } = this.#settings;
    if (this.#isStopped || callback === undefined || this.#requests.store === undefined) return;
    const again = (): void => {
      if (!this.#isStopped) this.#timer = setUnrefTimeout(clock, look, pauseMs);
    };
    const failed = (error: unknown): void => {
      if (!this.#isStopped) onError(error);
    };
    const look = (): void => void this.tell().catch(failed).then(again);
    look();
  }

  /** Looks no more; resolves when the last look has ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#settings.clock.clearTimeout(this.#timer);
    return this.#telling;
  }

  /** Has all told that are due now, one call after the other. */
  readonly tell = (): Promise<void> => {
    const telling = this.#telling.then(() => this.#tell());
    this.#telling = telling.catch(() => {});
    return telling;
  };

  async #tell(): Promise<void> {
    const { clock, name, time } = this.#settings;
    const { store } = this.#requests;
    await time.join();
    while (!this.#isStopped) {
      const due = (await store?.due(name, clock.now(), atOnce)) ?? [];
      for (const one of due) await addOverdue(this.#settings, this.#requests, one);
      if (due.length < atOnce) return;
    }
  }
}
