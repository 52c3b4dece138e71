import { setTimeout } from "node:timers";
import type { ConsumeOptions } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import { type Completion, type CompletionResult, isFailure } from "../protocol/protocol.ts";
import { errorOfFailure } from "../protocol/results.ts";

const retryMs = 1_000;

/** Records completions, with retries. */
export class CompletionRecorder {
  readonly complete: (recording: Recording) => void;
  readonly onError: ConsumeOptions["onError"];
  isAborted = false;

  constructor(complete: (recording: Recording) => void, onError: ConsumeOptions["onError"]) {
    this.complete = complete;
    this.onError = onError;
  }

  /** Ends the wait for retries: the leases are requeued once the file can be written again. */
  abort(): void {
    this.isAborted = true;
  }

  /** Retries until it is recorded or the lease is lost; calls `done` with whether it was recorded. */
  record(completion: Completion, kept: StoredDelivery, done: (isRecorded: boolean) => void): void {
    new Recording(this, completion, kept, done).send();
  }
}

/** One completion, until it is recorded. */
export class Recording {
  readonly completion: Completion;
  readonly kept: StoredDelivery;
  readonly #recorder: CompletionRecorder;
  #done: ((isRecorded: boolean) => void) | null;

  constructor(
    recorder: CompletionRecorder,
    completion: Completion,
    kept: StoredDelivery,
    done: (isRecorded: boolean) => void,
  ) {
    this.#recorder = recorder;
    this.completion = completion;
    this.kept = kept;
    this.#done = done;
  }

  send(): void {
    // After the verdict the result is recorded, too: it says both.
    if (this.#recorder.isAborted && this.completion.keepsLease) this.#end(false);
    else this.#recorder.complete(this);
  }

  /** The thread has answered. */
  resolve(result: CompletionResult): void {
    if (!isFailure(result)) {
      this.#end(result);
      return;
    }
    this.#recorder.onError(errorOfFailure(result));
    setTimeout(() => this.send(), retryMs).unref();
    // Ends the wait; retries continue.
    if (this.#recorder.isAborted) this.#end(false);
  }

  /** The thread has ended, and with it the lease. */
  reject(error: unknown): void {
    if (!this.#recorder.isAborted) this.#recorder.onError(error);
    this.#end(false);
  }

  #end(isRecorded: boolean): void {
    this.#done?.(isRecorded);
    this.#done = null;
  }
}
