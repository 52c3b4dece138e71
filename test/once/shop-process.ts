import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";

/** Where an app can be held in its transaction, in their order. */
export const steps = ["begun", "recorded", "booked", "committing", "committed"] as const;
export type Step = (typeof steps)[number];

/** Where an app books, and how. */
export interface ShopOptions {
  readonly driver: "pg" | "libsql" | "node:sqlite";
  /** The URL of the server, or the file. */
  readonly place: string;
  /** The statement that begins a transaction. */
  readonly begin: string;
}

/** An event to book, and the step to wait at until told to go on. */
export interface Order {
  readonly event: string;
  readonly holdAt?: Step;
}

/** Said by an app: the step it is held at, or how its transaction ended. */
export type Told =
  | { readonly at: Step }
  | { readonly booked: boolean }
  | { readonly failed: string };

/** An app in a separate process, which books one event at a time. */
export class ShopProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #told: Told[] = [];
  #heard = (): void => {};

  constructor(program: string, options: ShopOptions) {
    this.#child = fork(program, [], {
      execArgv: [],
      env: { ...process.env, ONCE_SHOP: JSON.stringify(options), NODE_OPTIONS: "" },
    });
    this.#child.on("message", (told: Told) => {
      this.#told.push(told);
      this.#heard();
    });
    this.#ended = once(this.#child, "exit").then(() => this.#heard());
  }

  /** Books an event, again as often as it fails, as a receiver does; resolves to whether this made the booking. */
  async book(event: string): Promise<boolean> {
    for (;;) {
      const told = await this.ask({ event });
      if ("booked" in told) return told.booked;
    }
  }

  /** Begins to book an event; resolves once it is held at the step, or its transaction has ended. */
  ask(order: Order): Promise<Told> {
    this.#child.send(order);
    return this.#next();
  }

  /** Lets it go on where it is held; resolves to how its transaction ended. */
  goOn(): Promise<Told> {
    this.#child.send("go on");
    return this.#next();
  }

  /** Kills it. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  async #next(): Promise<Told> {
    while (this.#told.length === 0) {
      const { exitCode, signalCode } = this.#child;
      if (exitCode !== null || signalCode !== null) throw new Error("The app has ended");
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
    return this.#told.shift() as Told;
  }
}
