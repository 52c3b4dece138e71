interface Waiter<Asked, Answer> {
  readonly asked: Asked;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Promises whose results come in the order in which they were asked for. */
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

  /** Settles the first ones with their results; where `answerOf` throws, it rejects. */
  settle<Result>(
    results: readonly Result[],
    answerOf: (result: Result, asked: Asked) => Answer,
  ): void {
    let index = 0;
    for (const waiter of this.#waiting.splice(0, results.length)) {
      try {
        waiter.resolve(answerOf(results[index++] as Result, waiter.asked));
      } catch (error) {
        waiter.reject(error);
      }
    }
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
