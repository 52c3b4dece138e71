import { setImmediate, setTimeout } from "node:timers";
import type { ShownChanges, StoredDelivery } from "@reporthook/core/store";
import {
  type Claimed,
  type Completion,
  type CompletionResult,
  errorOfFailure,
  isFailure,
} from "../protocol/protocol.ts";

const retryMs = 1_000;

/** The part of the inbox that a consumer needs. */
export interface ConsumerSource {
  readonly shown: ShownChanges;
  /** Sends the states of the consumers of a receiver to the thread. */
  tell(receiver: string): void;
}

/** The connection with the thread that leased a delivery: a lease ends with its thread. */
export interface LeaseSource {
  /** Whether this process still holds its leases. */
  holdsLeases(): boolean | Promise<boolean>;
  /** Sends a completion, and resolves it with the result; its delivery may be leased again by then. */
  complete(recording: Recording): void;
}

/** A delivery in memory that is leased to a consumer of this process. */
export interface Leased extends Pick<Claimed, "seq" | "isFirstStart"> {
  readonly source: LeaseSource;
  readonly workerId: number;
  readonly stored: StoredDelivery;
}

/** The consumer that a completion is recorded for. */
export interface Recorder {
  /** Whether to wait for no retries: the leases are requeued once the file can be written again. */
  readonly isAborted: boolean;
  failed(error: unknown): void;
}

/** One completion, which is sent until it is recorded or the lease is lost; then `done` is told which. */
export class Recording {
  readonly leased: Leased;
  readonly completion: Completion;
  readonly #recorder: Recorder;
  #done: ((isRecorded: boolean) => void) | null;

  constructor(
    recorder: Recorder,
    leased: Leased,
    completion: Completion,
    done: (isRecorded: boolean) => void,
  ) {
    this.#recorder = recorder;
    this.leased = leased;
    this.completion = completion;
    this.#done = done;
  }

  send(): void {
    // After the verdict the result is recorded, too: it says both.
    if (this.#recorder.isAborted && this.completion.keepsLease) this.#end(false);
    else this.leased.source.complete(this);
  }

  /** The thread has answered. */
  resolve(result: CompletionResult): void {
    if (!isFailure(result)) {
      this.#end(result);
      return;
    }
    this.#recorder.failed(errorOfFailure(result));
    setTimeout(() => this.send(), retryMs).unref();
    // Ends the wait; retries continue.
    if (this.#recorder.isAborted) this.#end(false);
  }

  /** The thread has ended, and with it the lease. */
  reject(error: unknown): void {
    if (!this.#recorder.isAborted) this.#recorder.failed(error);
    this.#end(false);
  }

  #end(isRecorded: boolean): void {
    const done = this.#done;
    this.#done = null;
    try {
      done?.(isRecorded);
    } catch (error) {
      // An observer that throws must not keep the rest of a reply from the consumers.
      setImmediate(() => {
        throw error;
      });
    }
  }
}
