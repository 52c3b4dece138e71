import { isTiedToRequests } from "../lib/platform.ts";
import { setUnrefTimeout } from "../lib/time/clock.ts";
import { realClock } from "../lib/time/real-timers.ts";
import { Standstill, signMs, slowMs } from "../lib/time/standstill.ts";
import type { Job, Outcome } from "./delivery.ts";
import type { ConsumeOptions, InboxNotice } from "./inbox.ts";

/** Tells a consumer of a recorded outcome. One that throws is an unhandled rejection: the store goes on with what comes next. */
export function tellRecorded({ onRecorded }: ConsumeOptions, job: Job, outcome: Outcome): void {
  try {
    onRecorded?.(job, outcome);
  } catch (error) {
    void Promise.reject(error);
  }
}

/** Tells the consumers of this process about events between the processes. */
export class Notices {
  readonly #options = new Set<ConsumeOptions>();
  readonly #standstill: Standstill;
  #timer: unknown;

  /** With `isOnServer` it waits for what a server says of deliveries that were handed on. */
  constructor({ isOnServer = false }: { readonly isOnServer?: boolean } = {}) {
    const tell = (ms: number, isHandedOn: boolean): void =>
      this.tell({ what: "stood_still", ms, isHandedOn });
    this.#standstill = new Standstill(tell, isOnServer ? slowMs : 0);
  }

  /** Adds a consumer; while there is any, a standstill of the event loop is noticed. */
  add(options: ConsumeOptions): void {
    this.#options.add(options);
    if (this.#timer !== undefined || isTiedToRequests() || !realClock.areReal) return;
    this.#standstill.begin();
    this.#signLater();
  }

  remove(options: ConsumeOptions): void {
    this.#options.delete(options);
    if (this.#options.size > 0) return;
    realClock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Whether the event loop stood still a moment ago. */
  get stoodStill(): boolean {
    return this.#standstill.isRecent;
  }

  /** Notes that another process has a job of this one. */
  lost(): void {
    this.#standstill.handedOn();
  }

  tell(notice: InboxNotice): void {
    for (const { onNotice } of this.#options) onNotice?.(notice);
  }

  #signLater(): void {
    const sign = (): void => {
      this.#signLater();
      this.#standstill.sign();
    };
    this.#timer = setUnrefTimeout(realClock, sign, signMs);
  }
}
