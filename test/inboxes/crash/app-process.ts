import { type ChildProcess, fork } from "node:child_process";
import type { Counts, Entry, EntryDetails, InboxQuery } from "@reporthook/core";
import { programOf } from "@reporthook/test-support/program";
import type { AppOptions, Question } from "./app.ts";

const file = await programOf(new URL("app.ts", import.meta.url));

/** A line that an app logged. */
export type Line = Readonly<Record<string, unknown>>;

/** How a process ended. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How one ends that is told to. */
export const inPeace: Ended = { code: 0, signal: null };

/** An app in a separate process. */
export class AppProcess {
  /** Resolves when the process has ended, by itself or by a signal. */
  readonly ended: Promise<Ended>;
  /** Where it takes notifications; rejects when it ends before it listens. */
  readonly url: Promise<string>;
  readonly lines: Line[] = [];
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, (message: Line) => void>();
  #lastAsked = 0;
  #output = "";
  #isOver = false;

  constructor(options: AppOptions) {
    this.#child = fork(file, [], {
      env: { ...process.env, CRASH_APP: JSON.stringify(options), NODE_OPTIONS: "" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output = (this.#output + text).slice(-4_000);
      });
    }
    let listening = (_url: string): void => {};
    this.ended = new Promise((resolve) => {
      this.#child.on("exit", () => {
        this.#isOver = true;
      });
      // Then all that it wrote has been read.
      this.#child.on("close", (code, signal) => {
        const error = `The app ended with ${code ?? signal}: ${this.output}`;
        for (const answer of this.#asked.values()) answer({ error });
        resolve({ code, signal });
      });
    });
    this.url = new Promise((resolve, reject) => {
      listening = resolve;
      void this.ended.then(() =>
        reject(new Error(`The app ended before it listened: ${this.output}`)),
      );
    });
    this.url.catch(() => {});
    this.#child.on("message", (message: Line) => {
      if ("port" in message) listening(`http://127.0.0.1:${message["port"]}/hook`);
      else if ("log" in message) this.lines.push(message["log"] as Line);
      else this.#asked.get(Number(message["number"]))?.(message);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The last that it wrote and logged. */
  get output(): string {
    return [this.#output, ...this.lines.slice(-20).map((line) => JSON.stringify(line))].join("\n");
  }

  /** Sends it a signal; waits for nothing. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Ends it as a crash does. */
  async kill(): Promise<Ended> {
    this.signal("SIGKILL");
    return this.ended;
  }

  /** Asks it to end in peace. */
  async end(): Promise<Ended> {
    this.signal("SIGTERM");
    return this.ended;
  }

  counts(): Promise<Counts> {
    return this.#ask({ ask: "counts" }) as Promise<Counts>;
  }

  get(id: string): Promise<EntryDetails | null> {
    return this.#ask({ ask: "get", given: id }) as Promise<EntryDetails | null>;
  }

  async release(id: string): Promise<void> {
    await this.#ask({ ask: "release", given: id });
  }

  /** Resolves when nothing waits; rejects after a time. */
  async idle(timeoutMs: number): Promise<void> {
    await this.#ask({ ask: "idle", given: timeoutMs });
  }

  /** All entries, page by page. */
  async list(): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (;;) {
      const query: InboxQuery = { limit: 500, after: entries.at(-1)?.id ?? "" };
      const page = (await this.#ask({ ask: "list", given: query })) as Entry[];
      entries.push(...page);
      if (page.length === 0) return entries;
    }
  }

  #ask(question: Question): Promise<unknown> {
    const number = ++this.#lastAsked;
    return new Promise((resolve, reject) => {
      if (this.#isOver) throw new Error(`The app has ended: ${this.output}`);
      this.#asked.set(number, ({ error, value }) => {
        this.#asked.delete(number);
        if (error === undefined) resolve(value);
        else reject(new Error(String(error)));
      });
      // A process that was just killed takes no question; its end answers.
      this.#child.send({ ...question, number }, () => {});
    });
  }
}
