import { setTimeout } from "node:timers";
import type { Policy } from "@reporthook/core";
import type { Kept } from "@reporthook/core/store";
import { type Completion, type CompletionResult, isFailure } from "../protocol/protocol.ts";
import { errorOf } from "../protocol/results.ts";

const retryMs = 1_000;

/** Records completions, for as long as it takes. */
export class Recorder {
  readonly #complete: (completion: Completion, kept: Kept) => Promise<CompletionResult>;
  readonly #onError: Policy["onError"];
  #isAborted = false;

  constructor(
    complete: (completion: Completion, kept: Kept) => Promise<CompletionResult>,
    onError: Policy["onError"],
  ) {
    this.#complete = complete;
    this.#onError = onError;
  }

  /** Waits for a file that refuses no longer: the leases are given back once it takes something again. */
  abort(): void {
    this.#isAborted = true;
  }

  /** Tries until it is recorded or the lease is lost; resolves to whether it was recorded. */
  async record(completion: Completion, kept: Kept): Promise<boolean> {
    for (;;) {
      try {
        const result = await this.#complete(completion, kept);
        if (!isFailure(result)) return result;
        this.#onError(errorOf(result));
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
