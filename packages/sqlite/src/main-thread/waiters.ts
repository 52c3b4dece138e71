/** Waits for one result: a promise costs more than this. */
export interface Waiter<Asked, Answer> {
  readonly asked: Asked;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** The waiters for results that come in the order in which they were asked for. */
export class Waiters<Asked, Answer> {
  readonly #waiting: Waiter<Asked, Answer>[] = [];

  get length(): number {
    return this.#waiting.length;
  }

  push(waiter: Waiter<Asked, Answer>): void {
    this.#waiting.push(waiter);
  }

  add(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => this.push({ asked, resolve, reject }));
  }

  /**
   * Settles the first ones with their results; where `answerOf` throws, it rejects. Failures first, so that the last news is of what
   * was stored beside them.
   */
  settle<Result>(
    results: readonly Result[],
    answerOf: (result: Result, asked: Asked) => Answer,
  ): void {
    const answered: Waiter<Asked, Answer>[] = [];
    const answers: Answer[] = [];
    let at = 0;
    for (const waiter of this.#waiting.splice(0, results.length)) {
      try {
        answers.push(answerOf(results[at++] as Result, waiter.asked));
        answered.push(waiter);
      } catch (error) {
        waiter.reject(error);
      }
    }
    at = 0;
    for (const waiter of answered) waiter.resolve(answers[at++] as Answer);
  }

  rejectAll(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
