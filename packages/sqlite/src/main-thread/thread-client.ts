import { clearImmediate, setImmediate } from "node:timers";
import type { Worker } from "node:worker_threads";
import { type Added, type Arrival, type NewDelivery, ReporthookError } from "@reporthook/core";
import { describe, type Kept, newKept } from "@reporthook/core/store";
import { kindOf } from "../protocol/kinds.ts";
import type {
  AddResult,
  Call,
  CallResult,
  FromThread,
  HandedOut,
  LaneState,
  Numbers,
  Recorded,
  RecordResult,
  Reply,
  Request,
  ThreadOptions,
} from "../protocol/protocol.ts";
import { beatMs, isFailure, lostAfterMs } from "../protocol/protocol.ts";
import { addedOf, errorOf, type LeasedToLane, leasedOf, storedUnder } from "../protocol/results.ts";
import { Outbox } from "./request-batch.ts";
import { startThread } from "./spawn.ts";

/** Who is told what nobody asked for. */
export interface Listener {
  /** How the lanes stand, to be told to the thread. */
  lanes(): readonly LaneState[];
  /** Counts have changed. */
  counted(numbers: Numbers): void;
  leased(leased: readonly LeasedToLane[]): void;
  /** The leases that were held are gone. */
  lost(): void;
  /** `asOf` is when the lanes were told of which the thread knew. */
  handedOut(rest: Pick<HandedOut, "due" | "poisoned">, asOf: number | null): void;
  failed(error: ReporthookError): void;
  /** The thread has ended, whatever the reason; `error` when nobody asked it to. */
  ended(error: ReporthookError | null): void;
}

interface Waiting<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

interface Addition {
  readonly kind: number;
  readonly bytes: number;
  readonly delivery: NewDelivery;
  readonly arrival: Arrival;
}

interface Recording {
  readonly seq: number;
  readonly kept: Kept;
}

const nothing: Omit<Request, "sentAt"> = {
  adds: [],
  bytes: new Uint8Array(),
  records: [],
  calls: [],
  lanes: [],
};
const mostAdds = 10_000;
const mostBytes = 64 * 1_024 * 1_024;
// So many are sent without waiting for the end of the turn: while the thread stores them, this one reads the next.
const together = 16;
// When a request was sent so lately that the answer says that the leases are ours, no other can have taken them.
const sureMs = lostAfterMs - beatMs;

/** The way to the engine's thread: collects what is asked for in one turn of the event loop, and sends it at once. */
export class Connection {
  /** Resolves when the file can be written. */
  readonly opened: Promise<void>;
  readonly #thread: Worker;
  readonly #ended: Promise<void>;
  readonly #listener: Listener;
  readonly #adding: (Waiting<Added> & Addition)[] = [];
  readonly #recording: (Waiting<RecordResult> & Recording)[] = [];
  readonly #calling: Waiting<unknown>[] = [];
  readonly #outbox = new Outbox();
  #flushing: ReturnType<typeof setImmediate> | undefined;
  #unconfirmedBytes = 0;
  readonly #pending = new Map<string, number[]>();
  #ownedAsOf = Number.NEGATIVE_INFINITY;
  #opening: Waiting<void> | null = null;
  #error: ReporthookError | null = null;
  #closing = false;
  #over = false;

  constructor(options: ThreadOptions, listener: Listener) {
    this.#listener = listener;
    this.#thread = startThread(options);
    this.opened = new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
    });
    this.opened.catch(() => {});
    this.#thread.on("message", (message: FromThread) => this.#receive(message));
    this.#thread.on("error", (error) => {
      const message = `The inbox's thread failed: ${String(error)}`;
      this.#error = new ReporthookError("inbox_failed", message, { cause: error });
    });
    this.#ended = new Promise((resolve) => {
      this.#thread.on("exit", () => {
        this.#end();
        resolve();
      });
    });
  }

  /** @throws ReporthookError `overloaded` when too many wait */
  add(delivery: NewDelivery, arrival: Arrival): Promise<Added> {
    const { body, key } = delivery;
    const begins = arrival.to === "received" ? null : newKept(delivery, arrival, null);
    const kind = begins === null ? 0 : kindOf(begins);
    const bytes = body.byteLength + (key?.byteLength ?? 0);
    if (this.#adding.length >= mostAdds || this.#unconfirmedBytes + bytes > mostBytes) {
      throw new ReporthookError(
        "overloaded",
        `${this.#adding.length} deliveries wait to be stored: the disk does not keep up`,
      );
    }
    this.#outbox.add(delivery, kind, begins);
    this.#count(delivery.receiver, kind, bytes, 1);
    return this.#promise((resolve, reject) => {
      this.#adding.push({ kind, bytes, delivery, arrival, resolve, reject });
    });
  }

  /** How many of each kind are on their way to the file. */
  pendingOf(receiver: string): readonly number[] {
    return this.#pending.get(receiver) ?? [];
  }

  record(recorded: Recorded, kept: Kept): Promise<RecordResult> {
    this.#outbox.record(recorded);
    return this.#promise((resolve, reject) => {
      this.#recording.push({ seq: recorded[0], kept, resolve, reject });
    });
  }

  /** Rejects with what the thread failed with. */
  call(call: Call): Promise<unknown> {
    try {
      this.#outbox.call(call);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#promise((resolve, reject) => {
      this.#calling.push({ resolve, reject });
    });
  }

  /** Whether what was leased is still ours, which is asked when it is not sure: this process may have stood still. */
  owns(): boolean | Promise<boolean> {
    return this.#isSure() || this.call({ ask: "counts" }).then(() => this.#isSure());
  }

  #isSure(): boolean {
    return performance.now() - this.#ownedAsOf < sureMs;
  }

  /** Sends, in this turn of the event loop, how the lanes stand and what else is to be sent. */
  flush(): void {
    this.#flushing ??= setImmediate(() => this.#send());
  }

  /** Resolves when the thread has let go of the file. */
  async close(): Promise<void> {
    if (this.#over) return this.#ended;
    this.#closing = true;
    await this.call({ ask: "close" }).catch(() => {});
    this.#thread.ref();
    await this.#ended;
    // What was never opened has nothing to give back.
    if (this.#error !== null && this.#opening === null) throw this.#error;
  }

  #promise<T>(
    wait: (resolve: (value: T) => void, reject: (error: unknown) => void) => void,
  ): Promise<T> {
    if (this.#over) return Promise.reject(this.#error ?? closed());
    const promise = new Promise<T>(wait);
    if (this.#outbox.deliveries === together) this.#send();
    else this.flush();
    return promise;
  }

  #count(receiver: string, kind: number, bytes: number, by: 1 | -1): void {
    let numbers = this.#pending.get(receiver);
    if (numbers === undefined) {
      numbers = [];
      this.#pending.set(receiver, numbers);
    }
    numbers[kind] = (numbers[kind] ?? 0) + by;
    this.#unconfirmedBytes += by * bytes;
  }

  #send(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    try {
      const request = this.#outbox.take(this.#listener.lanes());
      this.#thread.ref();
      // Handed over: a copy would take memory in the thread that nobody has touched, for each message anew.
      this.#thread.postMessage(request, [request.bytes.buffer]);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** What was not sent gets no answer: no later answer may be taken for its own. Everything that waits is rejected. */
  #fail(error: unknown): void {
    this.#error ??= new ReporthookError(
      "inbox_failed",
      `What was asked for could not be sent to the inbox's thread: ${describe(error)}`,
      { cause: error },
    );
    this.#over = true;
    this.#thread.ref();
    this.#thread.postMessage({ ...nothing, calls: [{ ask: "close" }], sentAt: performance.now() });
  }

  #receive(message: FromThread): void {
    if (this.#over) return;
    if ("reply" in message) {
      this.#deliver(message.reply);
    } else if ("opened" in message) {
      this.#listener.counted(message.opened);
      this.#opening?.resolve();
      this.#opening = null;
    } else {
      this.#error = errorOf(message.unopened);
      // Its end is waited for.
      return;
    }
    // Only what is waited for keeps the process alive.
    const waiting = this.#adding.length + this.#recording.length + this.#calling.length;
    if (waiting === 0) this.#thread.unref();
  }

  #deliver(reply: Reply): void {
    const { adds, records, calls, numbers, error, handed, owner, lost, asOf } = reply;
    if (asOf !== null && owner !== null && !lost) this.#ownedAsOf = asOf;
    if (numbers !== null) this.#listener.counted(numbers);
    const inMemory = new Map<number, Kept>();
    const wanted = new Set(handed.filter(({ row }) => row === null).map(({ seq }) => seq));
    for (const [index, adding] of this.#taken(this.#adding, adds)) {
      const { delivery, arrival, kind, bytes, resolve, reject } = adding;
      const result = adds[index] as AddResult;
      this.#count(delivery.receiver, kind, bytes, -1);
      if (isFailure(result)) {
        reject(errorOf(result));
        continue;
      }
      const [seq, sameSignatureAs] = storedUnder(result);
      if (wanted.has(seq)) inMemory.set(seq, newKept(delivery, arrival, sameSignatureAs));
      resolve(addedOf(delivery.id, result));
    }
    for (const [index, { seq, kept, resolve }] of this.#taken(this.#recording, records)) {
      inMemory.set(seq, kept);
      resolve(records[index] as RecordResult);
    }
    for (const [index, { resolve, reject }] of this.#taken(this.#calling, calls)) {
      const result = calls[index] as CallResult;
      if (isFailure(result)) reject(errorOf(result));
      else resolve(result.value);
    }
    if (lost) this.#listener.lost();
    this.#listener.leased(handed.map((one) => leasedOf(one, owner ?? 0, inMemory)));
    this.#listener.handedOut(reply, asOf);
    if (error !== null) this.#listener.failed(errorOf(error));
  }

  /** Takes those off a queue that there are results for. */
  #taken<T>(queue: T[], results: readonly unknown[]): IterableIterator<[number, T]> {
    return queue.splice(0, results.length).entries();
  }

  #end(): void {
    this.#over = true;
    clearImmediate(this.#flushing);
    if (!this.#closing) this.#error ??= new ReporthookError("inbox_failed", "The thread has ended");
    const error = this.#error ?? closed();
    this.#opening?.reject(error);
    for (const { delivery, kind, bytes } of this.#adding) {
      this.#count(delivery.receiver, kind, bytes, -1);
    }
    for (const queue of [this.#adding, this.#recording, this.#calling]) {
      for (const { reject } of queue.splice(0)) reject(error);
    }
    this.#listener.ended(this.#error);
  }
}

function closed(): ReporthookError {
  return new ReporthookError("inbox_failed", "The inbox was closed before this was done");
}
