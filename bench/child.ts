import { type ChildProcess, fork } from "node:child_process";

/** A process of ours that is given one configuration and answers each question with one message. */
export interface Child {
  /** Sends `message`; resolves to the answer. */
  ask<Answer>(message: unknown): Promise<Answer>;
  /** Sends without waiting for an answer. */
  tell(message: unknown): void;
  /** Calls `listener` for messages that are no answers. */
  onNews(listener: (news: unknown) => void): void;
  end(): Promise<void>;
}

/** What a child sends: an answer, news, or why it failed. */
export type Message =
  | { readonly answer: unknown }
  | { readonly news: unknown }
  | { readonly failed: string };

// A million deliveries take PostgreSQL minutes.
const longestMs = 900_000;
const text = JSON.stringify;

/** Starts the compiled program `name` in a process of its own. */
export function startChild(name: string, env: Record<string, string> = {}): Child {
  const file = new URL(`./${name}.js`, import.meta.url);
  const child = fork(file, { env: { ...process.env, ...env } });
  let listener = (_news: unknown): void => {};
  let settle: { resolve(value: unknown): void; reject(error: Error): void } | undefined;
  child.on("message", (message: Message) => {
    if ("news" in message) listener(message.news);
    else if ("failed" in message) settle?.reject(new Error(`${name}: ${message.failed}`));
    else settle?.resolve(message.answer);
  });
  child.on("exit", (code) => settle?.reject(new Error(`${name} ended with ${code}`)));
  return {
    ask: <Answer>(message: unknown) =>
      new Promise<Answer>((resolve, reject) => {
        const late = (): void => reject(new Error(`${name} gave no answer to ${text(message)}`));
        const timer = setTimeout(late, longestMs);
        settle = {
          resolve(value) {
            clearTimeout(timer);
            resolve(value as Answer);
          },
          reject(error) {
            clearTimeout(timer);
            reject(error);
          },
        };
        child.send(message as object);
      }),
    tell: (message) => {
      child.send(message as object);
    },
    onNews(call) {
      listener = call;
    },
    end: () => ended(child),
  };
}

/** In a child: answers every question with what `answer` resolves to. */
export function answerParent<Question>(answer: (question: Question) => unknown): void {
  process.on("disconnect", () => process.exit());
  process.on("message", async (question: Question) => {
    try {
      const answered = await answer(question);
      if (answered !== undefined) send({ answer: answered });
    } catch (error) {
      send({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
}

/** In a child: tells something that was not asked for. */
export function tellParent(news: unknown): void {
  send({ news });
}

function send(message: Message): void {
  process.send?.(message);
}

function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}
