import type { StoredRequest } from "../inbox/request-store.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import type { ReceiverSettings } from "../options/receiver-settings.ts";
import { changeRequest, type KnownRequests } from "./known-requests.ts";
import { dated } from "./request.ts";

const pauseMs = 1_000;
const atOnce = 100;

/** Looks for requests that are due and not settled, and has each told as overdue. */
export class OverdueSweep {
  readonly #settings: ReceiverSettings;
  readonly #requests: KnownRequests;
  #timer: unknown;
  #isStopped = false;
  #looking: Promise<void> = Promise.resolve();

  constructor(settings: ReceiverSettings, requests: KnownRequests) {
    this.#settings = settings;
    this.#requests = requests;
  }

  /** Looks each second from now on, if callback URLs are made here. */
  begin(onError: (error: unknown) => void): void {
    const { callbacks, clock, inbox } = this.#settings;
    if (callbacks === undefined || inbox.requests === undefined) return;
    const look = (): void => {
      this.#looking = this.tellDue()
        .catch((error: unknown) => {
          if (!this.#isStopped) onError(error);
        })
        .then(() => {
          if (!this.#isStopped) this.#timer = setUnrefTimeout(clock, look, pauseMs);
        });
    };
    look();
  }

  /** Looks no more; resolves when the last look has ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#settings.clock.clearTimeout(this.#timer);
    return this.#looking;
  }

  /** Has all told that are due now. */
  async tellDue(): Promise<void> {
    const { clock, inbox, name, time } = this.#settings;
    await time.join();
    const { requests: store } = inbox;
    if (store === undefined) return;
    while (!this.#isStopped) {
      const due = await store.due(name, clock.now(), atOnce);
      for (const one of due) if (!this.#isStopped) await this.#tell(one);
      if (due.length < atOnce) return;
    }
  }

  /** Another process may tell it too: its event is stored once. */
  async #tell(request: StoredRequest): Promise<void> {
    await this.#requests.addEvent(request, "report.overdue", null);
    const wallNow = this.#settings.clock.wallNow();
    await changeRequest(this.#requests.store, request, (read) => dated(read, "overdueAt", wallNow));
  }
}
