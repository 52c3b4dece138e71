import { clearImmediate, setImmediate } from "node:timers";
import type { Worker } from "node:worker_threads";
import type { AddResult, Arrival, NewDelivery, ReporthookError } from "@reporthook/core";
import {
  describe,
  newStoredDelivery,
  type ShownChanges,
  type StoredDelivery,
} from "@reporthook/core/store";
import { inboxFailed } from "../database/driver.ts";
import { type ChangedTallies, isUsual, kindOf, usualKind } from "../protocol/counts.ts";
import { MessageBuilder } from "../protocol/message.ts";
import type { Operations, ThreadCall } from "../protocol/operations.ts";
import {
  addResultOf,
  type Claimed,
  type Completion,
  type ConsumerState,
  errorOfFailure,
  type FromThread,
  heartbeatMs,
  leaseLostAfterMs,
  type Reply,
  type StoreOptions,
  seqOf,
  unlessFailed,
} from "../protocol/protocol.ts";
import type { HeldFile } from "./held-file.ts";
import { Pending, type PendingDelivery } from "./pending.ts";
import type { Pulse } from "./pulse.ts";
import { startThread, threadFailed } from "./spawn.ts";
import { type Waiter, Waiters } from "./waiters.ts";

/** A delivery in memory that is leased to a consumer of this process: its lease ends with the thread of the connection. */
export interface Leased {
  readonly claimed: Claimed;
  readonly connection: Pick<ThreadConnection, "complete" | "holdsLeases" | "isOver">;
  readonly workerId: number;
  readonly stored: StoredDelivery;
}

/** The owner of a connection. */
export interface ConnectionOwner {
  readonly shown: ShownChanges;
  /** The states of consumers to send with the next message. */
  takeStates(): readonly ConsumerState[];
  /** Takes tallies, all of a file that was opened: those of a reply before its results, whose hooks may ask for the backlog. */
  counted(tallies: ChangedTallies, areAll: boolean): void;
  /** Takes the rest of a reply beside results. */
  answered(reply: Reply, leased: readonly Leased[]): void;
  /** The thread has ended; `error` if that was unexpected. */
  ended(error: ReporthookError | null): void;
}

// Milliseconds after sending a message during which no other worker can take the leases that its answer confirms.
const sureMs = leaseLostAfterMs - heartbeatMs;

/** The connection with one writer's thread, as long as that runs: sends all that is asked for in one tick as one message. */
export class ThreadConnection {
  /** Resolves when the file can be written. */
  readonly opened: Promise<void>;
  readonly pending: Pending = new Pending();
  readonly #thread: Worker;
  readonly #ended: Promise<void>;
  readonly #owner: ConnectionOwner;
  readonly #opening = new Waiters<null, void>();
  readonly #adding = new Waiters<PendingDelivery, AddResult>();
  readonly #completing = new Waiters<Leased, boolean>();
  readonly #calling = new Waiters<null, unknown>();
  #message = new MessageBuilder();
  #flushing: ReturnType<typeof setImmediate> | undefined;
  #ownedAsOf = Number.NEGATIVE_INFINITY;
  #error: ReporthookError | null = null;
  #isOpened = false;
  #closing = false;
  /** Whether the thread has ended, and with it all leases. */
  isOver = false;

  /** It ends the use of `file` and `pulse` with the thread; the caller does if it throws. */
  constructor(options: StoreOptions, owner: ConnectionOwner, file: HeldFile, pulse: Pulse) {
    this.#owner = owner;
    const { descriptor } = file;
    this.#thread = startThread({ ...options, descriptor, pulse: pulse.memory });
    this.opened = this.#opening.add(null);
    this.opened.catch(() => {});
    this.#thread.on("message", (message: FromThread) => this.#receive(message));
    this.#thread.on("error", (cause) => {
      this.#error = threadFailed(cause);
    });
    this.#ended = new Promise((resolve) => {
      this.#thread.on("exit", () => {
        file.release();
        pulse.end();
        this.#end();
        resolve();
      });
    });
  }

  /** @throws ReporthookError `overloaded` when too many wait */
  add(delivery: NewDelivery, arrival: Arrival): Promise<AddResult> {
    const { body, key } = delivery;
    const begins = isUsual(delivery, arrival) ? null : newStoredDelivery(delivery, arrival, null);
    if (begins !== null) begins.changedAt = this.#owner.shown.after(begins.changedAt);
    const kind = begins === null ? usualKind : kindOf(begins);
    const bytes = body.byteLength + (key?.byteLength ?? 0);
    const pending = { delivery, arrival, kind, bytes };
    this.pending.add(pending);
    this.#message.add(delivery, kind, begins);
    return this.#promise(this.#adding, pending);
  }

  /** Tells whether the end of an attempt is recorded: false when the lease is lost. Its delivery may be leased again by then. */
  complete(completion: Completion, waiter: Waiter<Leased, boolean>): void {
    if (this.isOver) {
      waiter.resolve(false);
      return;
    }
    this.#message.complete(completion);
    this.#completing.push(waiter);
    this.flush();
  }

  /** Has the thread carry out an operation. Rejects with its error. */
  async ask<Name extends keyof Operations>(
    ask: Name,
    ...given: Parameters<Operations[Name]>
  ): Promise<ReturnType<Operations[Name]>> {
    this.#message.call({ ask, given } as ThreadCall);
    return this.#promise(this.#calling, null) as Promise<ReturnType<Operations[Name]>>;
  }

  /** Whether leases are still held; asks the thread if this process may have been blocked. */
  holdsLeases(): boolean | Promise<boolean> {
    const isSure = (): boolean => !this.isOver && performance.now() - this.#ownedAsOf < sureMs;
    return isSure() || this.ask("counts").then(isSure, () => false);
  }

  /** Sends the message, with the states of consumers, at the end of this tick. */
  flush(): void {
    this.#flushing ??= setImmediate(() => this.#send());
  }

  /** Resolves when the thread has closed the file. */
  async close(): Promise<void> {
    if (this.isOver) return this.#ended;
    this.#closing = true;
    await this.ask("close").catch(() => {});
    this.#thread.ref();
    await this.#ended;
    // A file that was never opened has no leases to requeue.
    if (this.#error !== null && this.#isOpened) throw this.#error;
  }

  /** Sends the message, at once or with the next additions. */
  #promise<Asked, Answer>(waiters: Waiters<Asked, Answer>, asked: Asked): Promise<Answer> {
    if (this.isOver) return Promise.reject(this.#whyOver());
    const promise = waiters.add(asked);
    if (this.#message.isFull) this.#send();
    else this.flush();
    return promise;
  }

  #send(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    try {
      const message = this.#message.encode(this.#owner.takeStates());
      this.#message = new MessageBuilder();
      this.#thread.ref();
      // Transferred: each copy would take fresh memory in the thread.
      this.#thread.postMessage(message, [message.bytes.buffer]);
    } catch (cause) {
      const what = "What was asked for could not be sent to the inbox's thread";
      this.#error ??= inboxFailed(`${what}: ${describe(cause)}`, cause);
      // All that wait are rejected: a later answer would be matched with another question.
      this.isOver = true;
      this.#thread.ref();
      const last = new MessageBuilder();
      last.call({ ask: "close", given: [] });
      this.#thread.postMessage(last.encode([]));
    }
  }

  #receive(message: FromThread): void {
    if (this.isOver) return;
    // The rest follows when the thread ends.
    if ("ending" in message) {
      this.#error = errorOfFailure(message.ending);
      return;
    }
    if ("reply" in message) this.#deliver(message.reply);
    else {
      this.#isOpened = true;
      this.#owner.counted(message.opened, true);
      this.#opening.settle([null], () => {});
    }
    // Only answers that are waited for keep the process alive.
    const waiting = this.#adding.length + this.#completing.length + this.#calling.length;
    if (waiting === 0) this.#thread.unref();
  }

  #deliver(reply: Reply): void {
    const { adds, completions, calls, claimed, workerId, lost, asOf } = reply;
    this.#owner.counted(reply.tallies, false);
    if (asOf !== null && workerId !== null && !lost) this.#ownedAsOf = asOf;
    /** Makes what was just added or recorded, by its number: if it is claimed at once, the thread does not send it back. */
    const sent = claimed.length > 0 ? new Map<number, () => StoredDelivery>() : null;
    this.#adding.settle(adds, (result, pending) => {
      const { delivery, arrival } = pending;
      this.pending.remove(pending);
      const stored = unlessFailed(result);
      const seq = seqOf(stored);
      const added = addResultOf(delivery.id, stored);
      if (sent !== null && added.status === "added" && seq !== null) {
        sent.set(seq, () => newStoredDelivery(delivery, arrival, added.sameSignatureAs ?? null));
      }
      return added;
    });
    this.#completing.settle(completions, (result, { claimed: { seq }, stored }) => {
      sent?.set(seq, () => stored);
      return unlessFailed(result);
    });
    this.#calling.settle(calls, (result) => unlessFailed(result).value);
    const leased = claimed.map((one): Leased => {
      const stored = one.stored ?? sent?.get(one.seq)?.();
      if (stored === undefined) throw new Error(`The thread leased ${one.seq}, which is not here`);
      return { claimed: one, connection: this, workerId: workerId ?? 0, stored };
    });
    this.#owner.answered(reply, leased);
  }

  #end(): void {
    this.isOver = true;
    clearImmediate(this.#flushing);
    if (!this.#closing) this.#error ??= inboxFailed("The thread has ended");
    for (const waiters of [this.#completing, this.#opening, this.#adding, this.#calling]) {
      waiters.rejectAll(this.#whyOver());
    }
    this.#owner.ended(this.#error);
  }

  #whyOver(): ReporthookError {
    return this.#error ?? inboxFailed("The inbox was closed before this was done");
  }
}
