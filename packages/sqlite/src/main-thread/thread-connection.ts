import { clearImmediate, setImmediate } from "node:timers";
import type { Worker } from "node:worker_threads";
import type { AddResult, Arrival, NewDelivery, ReporthookError } from "@reporthook/core";
import { describe, newStoredDelivery, type StoredDelivery } from "@reporthook/core/store";
import { inboxFailed } from "../database/driver.ts";
import { isUsual, kindOf, type Tally, usualKind } from "../protocol/counts.ts";
import { MessageBuilder } from "../protocol/message.ts";
import type { Operations, ThreadCall } from "../protocol/operations.ts";
import {
  addResultOf,
  type CompletionResult,
  errorOfFailure,
  type FromThread,
  heartbeatMs,
  leaseLostAfterMs,
  type Reply,
  type StoreOptions,
  seqOf,
  unlessFailed,
} from "../protocol/protocol.ts";
import type { ConsumerGroup } from "./consumer-group.ts";
import { HeldFile } from "./held-file.ts";
import { Pending, type PendingDelivery } from "./pending.ts";
import { Pulse } from "./pulse.ts";
import type { ConsumerSource, LeaseSource, Recording } from "./recording.ts";
import { startThread, threadFailed } from "./spawn.ts";
import { Waiters } from "./waiters.ts";

/** The owner of a connection. */
export interface ConnectionOwner extends Pick<ConsumerSource, "shown"> {
  readonly consumers: ConsumerGroup;
  tallies: Map<string, Tally>;
  /** The thread has ended; `error` if that was unexpected. */
  ended(error: ReporthookError | null): void;
}

// This many are sent before the end of the tick: while the thread stores them, this one reads the next.
const addsPerMessage = 16;
// Milliseconds after sending a message during which no other worker can take the leases that its answer confirms.
const sureMs = leaseLostAfterMs - heartbeatMs;

/** The connection with one writer's thread, as long as that runs: sends all that is asked for in one tick as one message. */
export class ThreadConnection implements LeaseSource {
  /** Resolves when the file can be written. */
  readonly opened: Promise<void>;
  readonly pending: Pending = new Pending();
  readonly #thread: Worker;
  readonly #ended: Promise<void>;
  readonly #owner: ConnectionOwner;
  readonly #pulse: Pulse;
  readonly #opening = new Waiters<null, void>();
  readonly #adding = new Waiters<PendingDelivery, AddResult>();
  readonly #recordings: Recording[] = [];
  readonly #calling = new Waiters<null, unknown>();
  #message = new MessageBuilder();
  #flushing: ReturnType<typeof setImmediate> | undefined;
  #ownedAsOf = Number.NEGATIVE_INFINITY;
  #error: ReporthookError | null = null;
  #isOpened = false;
  #closing = false;
  #over = false;

  constructor(options: StoreOptions, owner: ConnectionOwner) {
    this.#owner = owner;
    const file = new HeldFile(options.path, options.migrate);
    this.#pulse = new Pulse(owner.consumers);
    const { memory } = this.#pulse;
    this.#thread = startThread({ ...options, descriptor: file.descriptor, pulse: memory });
    this.opened = this.#opening.add(null);
    this.opened.catch(() => {});
    this.#thread.on("message", (message: FromThread) => this.#receive(message));
    this.#thread.on("error", (cause) => {
      this.#error = threadFailed(cause);
    });
    this.#ended = new Promise((resolve) => {
      this.#thread.on("exit", () => {
        file.release();
        this.#pulse.end();
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

  complete(recording: Recording): void {
    this.#owner.consumers.noteChange(recording.completion.receiver);
    if (this.#over) {
      recording.resolve(false);
      return;
    }
    this.#message.complete(recording.completion);
    this.#recordings.push(recording);
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
    const isSure = (): boolean => !this.#over && performance.now() - this.#ownedAsOf < sureMs;
    return isSure() || this.ask("counts").then(isSure, () => false);
  }

  /** Sends the message, with the states of consumers, at the end of this tick. */
  flush(): void {
    this.#flushing ??= setImmediate(() => this.#send());
  }

  /** Resolves when the thread has closed the file. */
  async close(): Promise<void> {
    if (this.#over) return this.#ended;
    this.#closing = true;
    await this.ask("close").catch(() => {});
    this.#thread.ref();
    await this.#ended;
    // A file that was never opened has no leases to requeue.
    if (this.#error !== null && this.#isOpened) throw this.#error;
  }

  /** Sends the message, at once or with the next additions. */
  #promise<Asked, Answer>(waiters: Waiters<Asked, Answer>, asked: Asked): Promise<Answer> {
    if (this.#over) return Promise.reject(this.#whyOver());
    const promise = waiters.add(asked);
    if (this.#message.deliveries === addsPerMessage) this.#send();
    else this.flush();
    return promise;
  }

  #send(): void {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    try {
      const message = this.#message.encode(this.#owner.consumers.takeStates());
      this.#message = new MessageBuilder();
      this.#thread.ref();
      // Transferred: each copy would take fresh memory in the thread.
      this.#thread.postMessage(message, [message.bytes.buffer]);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Rejects all waiters: a later answer would be matched with another question. */
  #fail(cause: unknown): void {
    this.#error ??= inboxFailed(
      `What was asked for could not be sent to the inbox's thread: ${describe(cause)}`,
      cause,
    );
    this.#over = true;
    this.#thread.ref();
    const last = new MessageBuilder();
    last.call({ ask: "close", given: [] });
    this.#thread.postMessage(last.encode([]));
  }

  #receive(message: FromThread): void {
    if (this.#over) return;
    if ("reply" in message) {
      this.#deliver(message.reply);
    } else if ("opened" in message) {
      this.#isOpened = true;
      this.#owner.tallies = new Map(message.opened);
      this.#opening.settle([null], () => {});
    } else {
      // The rest follows when the thread ends.
      this.#error = errorOfFailure(message.ending);
      return;
    }
    // Only answers that are waited for keep the process alive.
    const waiting = this.#adding.length + this.#recordings.length + this.#calling.length;
    if (waiting === 0) this.#thread.unref();
  }

  #deliver(reply: Reply): void {
    const { adds, completions, calls, tallies, error, claimed, workerId, lost, asOf } = reply;
    const { consumers } = this.#owner;
    if (asOf !== null && workerId !== null && !lost) this.#ownedAsOf = asOf;
    for (const [receiver, tally] of tallies) this.#owner.tallies.set(receiver, tally);
    /** Makes what was just added or recorded, by its number: if it is claimed at once, the thread does not send it back. */
    const sent = claimed.length > 0 ? new Map<number, () => StoredDelivery>() : null;
    this.#adding.settle(adds, (result, pending) => {
      const { delivery, arrival } = pending;
      this.pending.remove(pending);
      const stored = unlessFailed(result);
      const seq = seqOf(stored);
      const added = addResultOf(delivery.id, stored);
      if (sent !== null && added.status === "added" && seq !== null) {
        const { sameSignatureAs = null } = added;
        sent.set(seq, () => newStoredDelivery(delivery, arrival, sameSignatureAs));
      }
      return added;
    });
    for (const [index, recording] of this.#recordings.splice(0, completions.length).entries()) {
      sent?.set(recording.completion.seq, () => recording.leased.stored);
      recording.resolve(completions[index] as CompletionResult);
    }
    this.#calling.settle(calls, (result) => unlessFailed(result).value);
    if (lost) consumers.loseLeases(this.#pulse.leasesLost());
    for (const { consumer, seq, stored, isFirstStart, cost } of claimed) {
      const delivery = stored ?? sent?.get(seq)?.();
      if (delivery === undefined) throw new Error(`The thread leased ${seq}, which is not here`);
      const leased = { source: this, seq, workerId: workerId ?? 0, stored: delivery, isFirstStart };
      consumers.lease(consumer, leased, cost);
    }
    consumers.answered(reply);
    if (error !== null) consumers.failed(errorOfFailure(error));
  }

  #end(): void {
    this.#over = true;
    clearImmediate(this.#flushing);
    if (!this.#closing) this.#error ??= inboxFailed("The thread has ended");
    for (const recording of this.#recordings.splice(0)) recording.reject(this.#whyOver());
    for (const waiters of [this.#opening, this.#adding, this.#calling]) {
      waiters.rejectAll(this.#whyOver());
    }
    this.#owner.ended(this.#error);
  }

  #whyOver(): ReporthookError {
    return this.#error ?? inboxFailed("The inbox was closed before this was done");
  }
}
