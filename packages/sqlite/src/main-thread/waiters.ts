/** A promise that waits for its answer, and its request. */
export interface Waiter<Asked, Answer> {
  readonly asked: Asked;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Promises whose results come in the order of their requests. */
export class Waiters<Asked, Answer> {
  readonly #waiting: Waiter<Asked, Answer>[] = [];

  get length(): number {
    return this.#waiting.length;
  }

  add(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject });
    });
  }

  /** Removes the waiters that have a result, with their results. */
  *take<Result>(
    results: readonly Result[],
  ): Iterable<{ readonly waiter: Waiter<Asked, Answer>; readonly result: Result }> {
    const taken = this.#waiting.splice(0, results.length);
    for (const [index, waiter] of taken.entries()) {
      yield { waiter, result: results[index] as Result };
    }
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
