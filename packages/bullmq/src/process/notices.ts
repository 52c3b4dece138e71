import { clearInterval, setInterval } from "node:timers";
import type { ConsumeOptions, InboxNotice } from "@reporthook/core";
import { Standstill, signMs } from "@reporthook/core/store";

/** Tells the receivers of this process about events between the processes, each once. */
export class Notices {
  readonly #options = new Set<ConsumeOptions>();
  readonly #standstill = new Standstill((ms, isHandedOn) =>
    this.tell({ what: "stood_still", ms, isHandedOn }),
  );
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Adds a consumer; while there is any, a standstill of the event loop is noticed. */
  add(options: ConsumeOptions): void {
    this.#options.add(options);
    this.#timer ??= setInterval(() => this.#standstill.sign(), signMs).unref();
  }

  remove(options: ConsumeOptions): void {
    this.#options.delete(options);
    if (this.#options.size > 0) return;
    clearInterval(this.#timer);
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
    const notified = new Set<string>();
    for (const { receiver, onNotice } of this.#options) {
      if (!notified.has(receiver)) onNotice?.(notice);
      notified.add(receiver);
    }
  }
}
