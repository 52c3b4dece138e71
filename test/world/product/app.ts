import { dirname } from "node:path";
import type * as Core from "@reporthook/core";
import type { Answer, EntryDetails, Incoming } from "@reporthook/core";
import type { Notification } from "../surroundings/notification.ts";
import type { Surroundings } from "../surroundings/surroundings.ts";
import type { Owner } from "../surroundings/time.ts";
import { handlerOf } from "./handlers.ts";
import { appFile } from "./product.ts";
import { Realm } from "./realm.ts";
import { Thread } from "./thread.ts";

type Exported = typeof Core & typeof import("@reporthook/sqlite");

/** All that an inbox holds. */
export interface Contents {
  readonly entries: readonly EntryDetails[];
  readonly counts: Core.Counts;
  readonly requests: readonly Core.RequestRecord[];
  readonly requestCounts: Core.RequestCounts | null;
}

const answerMs = 5_000;
const address = "/webhooks/reports";
const callback = {
  secrets: ["a secret of 32 characters or more"],
  url: `https://app.example${address}`,
};

/** The part of an answer that is worth a line in the trace. */
function shown(body: string): string {
  const { code, status, id } = JSON.parse(body) as Record<string, unknown>;
  return String(code ?? `${status} ${id}`);
}

/** One process with a receiver, from its start to its end. */
export class App {
  readonly number: number;
  readonly #around: Surroundings;
  readonly #realm: Realm;
  readonly #receiver: Core.Receiver;
  readonly #answer: (incoming: Incoming) => Promise<Answer>;
  #thread: Thread | null = null;
  #stoodMs = 0;

  /** `wrongMs` is by how much its clock is ahead. */
  constructor(around: Surroundings, number: number, wrongMs: number) {
    const { time, ledger, service, disk, product, setup, chance } = around;
    this.#around = around;
    this.number = number;
    const realm = new Realm(time, chance);
    realm.wrongMs = wrongMs;
    this.#realm = realm;
    const begin = (workerData: unknown): Thread => {
      this.#thread = new Thread({ time, chance, disk, product }, realm, workerData);
      return this.#thread;
    };
    // Called with `new`, which gives what it returns.
    function Worker(_: unknown, options: { readonly workerData: unknown }): Thread {
      return begin(options.workerData);
    }
    const modules = { "node:worker_threads": { Worker } };
    const exported = realm.run(product.app, appFile, modules) as unknown as Exported;
    const log = (level: string) => (fields: object, message: string) => {
      // The folder has another name each time.
      const text = JSON.stringify(fields).replaceAll(dirname(disk.path), "");
      if (!realm.alive) return;
      ledger.tell(level, `${message} ${text}`);
      if (message.includes("Check apiKey") && !service.refusesKeyOf(realm)) {
        ledger.breaks("The key is blamed, while signatures are judged");
      }
    };
    this.#receiver = exported.createReceiver({
      ...setup.options,
      ...(setup.wishes > 0 && { callback }),
      client: exported.createClient({
        baseUrl: "https://service.example",
        apiKey: "key",
        fetch: service.fetchFor(realm),
      }),
      inbox: setup.store === "sqlite" ? exported.sqliteInbox(disk.path) : exported.memoryInbox(),
      ...(setup.givesClock && {
        clock: { now: realm.now, setTimeout: realm.setTimeout, clearTimeout: realm.clearTimeout },
      }),
      logger: { warn: log("warn"), error: log("error") },
    });
    const taker = handlerOf(around, { realm, process: number, exported });
    if (setup.takesAll) this.#receiver.on("*", taker("any"));
    type Known = "report" | "report.overdue" | "test_webhook_endpoint";
    const known: Known[] = ["report", "report.overdue", "test_webhook_endpoint"];
    this.#receiver.on<Known>(known, taker("known"));
    this.#answer = this.#receiver.mount();
    ledger.tell(this.#name, "starts");
  }

  get #name(): string {
    return `process ${this.number}`;
  }

  get alive(): boolean {
    return this.#realm.alive;
  }

  /** Whether this is the thread of its inbox. */
  has(thread: Owner): boolean {
    return this.#thread?.runsIn(thread) === true;
  }

  /** Whether its inbox is at work. */
  get isBusy(): boolean {
    return this.#thread?.isBusy === true;
  }

  /** How many timers it has set. */
  get timers(): number {
    return this.#realm.timers;
  }

  /** A notification arrives, its body `bodyMs` milliseconds after its headers; `answered` is told the HTTP status. */
  receive(notification: Notification, bodyMs: number, answered: (status: number) => void): void {
    // One that stands still takes it up later.
    this.#around.time.in(0, () => this.#take(notification, bodyMs, answered), this.#realm);
  }

  /** Something is done with its receiver; one that stands still does it later. */
  call(run: (receiver: Core.Receiver) => Promise<void>): void {
    this.#around.time.in(0, () => void run(this.#receiver), this.#realm);
  }

  #take(notification: Notification, bodyMs: number, answered: (status: number) => void): void {
    const { time, ledger } = this.#around;
    const { n, kind } = notification;
    const arrivedAt = time.elapsed - this.#stoodMs;
    let isAnswered = false;
    ledger.tell(this.#name, `n=${n} (${kind}) arrives`);
    const late = (): void => {
      if (isAnswered) return;
      const ms = time.elapsed - this.#stoodMs - arrivedAt;
      if (ms < answerMs - 1) time.in(answerMs - ms, late, this.#realm);
      else ledger.breaks(`n=${n} had no answer within 5 s`);
    };
    time.in(answerMs, late, this.#realm);
    void this.#answer(this.#incoming(notification, bodyMs)).then((answer) => {
      if (!this.#realm.alive) return;
      isAnswered = true;
      const ms = Math.round(time.elapsed - this.#stoodMs - arrivedAt);
      if (ms > answerMs) ledger.breaks(`n=${n} was answered after ${ms} ms`);
      ledger.tell(this.#name, `n=${n}: ${answer.status} ${shown(answer.body)} after ${ms} ms`);
      this.#acknowledged(notification, answer);
      answered(answer.status);
    });
  }

  /** It is gone, at this very moment. */
  crash(): void {
    if (!this.alive) return;
    this.#around.ledger.tell(this.#name, "is gone");
    this.#around.ledger.deaths++;
    this.#realm.end();
    this.#around.disk.closeGone();
  }

  /** It is stopped for so long, and knows nothing of it: others may take over what it works on. */
  stop(ms: number): void {
    const { ledger, time } = this.#around;
    ledger.deaths++;
    ledger.leasesLost.push(time.now);
    time.in(ms, () => ledger.leasesLost.push(time.now));
    this.#stoodMs += ms;
    this.#realm.stop(ms);
  }

  /** The thread of its inbox ends unasked. */
  loseThread(error: Error | null): void {
    if (!this.#thread?.alive) return;
    const { ledger, time } = this.#around;
    ledger.tell(this.#name, "loses its inbox' thread");
    ledger.deaths++;
    ledger.leasesLost.push(time.now);
    this.#thread.die(error);
  }

  /** Resolves when it has ended in peace. */
  async close(): Promise<void> {
    this.#around.ledger.tell(this.#name, "is told to end");
    await this.#receiver.close();
    this.#around.ledger.tell(this.#name, "has ended");
  }

  /** Its clock is set: ahead by so many milliseconds. */
  setClock(ms: number): void {
    if (!this.alive) return;
    this.#around.ledger.tell(this.#name, `has a clock that is off by ${ms} ms`);
    this.#realm.wrongMs = ms;
  }

  /** Nothing of it happens any more. */
  end(): void {
    this.#realm.end();
  }

  async waiting(): Promise<number> {
    const { received, verified } = await this.#receiver.inbox.counts();
    return received + verified;
  }

  async contents(): Promise<Contents> {
    const { inbox, reports } = this.#receiver;
    const [listed, counts] = await Promise.all([inbox.list({ limit: 10_000 }), inbox.counts()]);
    const entries = await Promise.all(listed.map(({ id }) => inbox.get(id)));
    const asks = this.#around.setup.wishes > 0;
    const requestCounts = asks ? await reports.counts() : null;
    const requests = await this.requests();
    return { entries: entries.filter((entry) => entry !== null), counts, requests, requestCounts };
  }

  /** All that it has asked for and others have. */
  async requests(): Promise<Core.RequestRecord[]> {
    if (this.#around.setup.wishes === 0) return [];
    return this.#receiver.reports.list({ limit: Number.POSITIVE_INFINITY });
  }

  #incoming({ about, body, signature }: Notification, bodyMs: number): Incoming {
    const bytes = new TextEncoder().encode(body);
    const headers = {
      "content-type": "application/json",
      ...(signature !== null && { "x-svc-authorization": signature }),
    };
    const readBody = (): ReturnType<Incoming["readBody"]> => {
      if (bodyMs === 0) return { result: bytes, stop() {} };
      const result = new Promise<Uint8Array>((resolve) => {
        this.#around.time.in(bodyMs, () => resolve(bytes), this.#realm);
      });
      return { result, stop() {} };
    };
    const { pathname, search } = new URL(about?.url ?? callback.url);
    return { method: "POST", url: pathname + search, headers, readBody };
  }

  #acknowledged(notification: Notification, { status, body }: Answer): void {
    if (status !== 200) return;
    notification.acknowledgedAt ??= this.#around.time.now;
    notification.ids.add((JSON.parse(body) as { id: string }).id);
  }
}
