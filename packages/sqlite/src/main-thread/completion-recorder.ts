import { setTimeout } from "node:timers";
import type { ConsumeOptions } from "@reporthook/core";
import type { StoredDelivery } from "@reporthook/core/store";
import { type Completion, type CompletionResult, isFailure } from "../protocol/protocol.ts";
import { errorOfFailure } from "../protocol/results.ts";

const retryMs = 1_000;

/** Records completions, for as long as it takes. */
export class CompletionRecorder {
  readonly #complete: (completion: Completion, kept: StoredDelivery) => Promise<CompletionResult>;
  readonly #onError: ConsumeOptions["onError"];
  #isAborted = false;

  constructor(
    complete: (completion: Completion, kept: StoredDelivery) => Promise<CompletionResult>,
    onError: ConsumeOptions["onError"],
  ) {
    this.#complete = complete;
    this.#onError = onError;
  }

  /** Waits for a file that refuses no longer: the leases are given back once it takes something again. */
  abort(): void {
    this.#isAborted = true;
  }

  /** Tries until it is recorded or the lease is lost; resolves to whether it was recorded. */
  async record(completion: Completion, kept: StoredDelivery): Promise<boolean> {
    for (;;) {
      try {
        const result = await this.#complete(completion, kept);
        if (!isFailure(result)) return result;
        this.#onError(errorOfFailure(result));
      } catch (error) {
        // The thread has ended, and with it the lease.
        if (!this.#isAborted) this.#onError(error);
        return false;
      }
      const later = new Promise<void>((resolve) => setTimeout(resolve, retryMs).unref());
      if (this.#isAborted) {
        void later.then(() => this.record(completion, kept));
        return false;
      }
      await later;
    }
  }
}
