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

  /**
   * Settles the first ones with their results; where `answerOf` throws, it rejects. Failures first, so that the last news is of what
   * was stored beside them.
   */
  settle<Result>(
    results: readonly Result[],
    answerOf: (result: Result, asked: Asked) => Answer,
  ): void {
    const waiters = this.#waiting.splice(0, results.length);
    const answers = waiters.map(({ asked, reject }, index) => {
      try {
        return answerOf(results[index] as Result, asked);
      } catch (error) {
        return reject(error);
      }
    });
    // For one that was rejected this does nothing.
    for (let index = 0; index < waiters.length; index++) {
      waiters[index]?.resolve(answers[index] as Answer);
    }
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
