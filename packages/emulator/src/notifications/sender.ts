import { randomUUID } from "node:crypto";
import type { VirtualClock, VirtualTimer } from "../lib/clock.ts";
import type { FaultOptions, Faults } from "../lib/faults.ts";
import { keepAlive } from "../lib/keep-alive.ts";
import type { Delivery, OutgoingNotification } from "./delivery.ts";
import type { SendResult, Transport } from "./transport.ts";

/** Sends notifications and records each result. */
export interface Sender {
  readonly deliveries: readonly Delivery[];
  /** Sends immediately, once, without retries; never rejects. */
  send(parcel: OutgoingNotification): Promise<Delivery>;
  /** Resolves once no delivery is under way; rejects with the mishaps that it has not told yet. */
  settled(): Promise<void>;
  /** Fails all running deliveries immediately, and ends the app's connections. */
  abort(reason: string): void;
  /** Deletes the recorded deliveries and mishaps. */
  clear(): void;
}

const ANSWER_TIME_MS = 5_000;

/** Creates an empty outbox (the service's document, section Events). */
export function createSender(clock: VirtualClock, faults: Faults, transport: Transport): Sender {
  const deliveries: Delivery[] = [];
  const onTheWay = new Set<() => void>();
  const underWay = new Map<Promise<Delivery>, (result: SendResult) => void>();

  function dispatch(parcel: OutgoingNotification, fault: FaultOptions): Promise<Delivery> {
    const { promise, resolve } = deferred<Delivery>();
    const network = new AbortController();
    const sentAt = clock.now();
    const timer = clock.setTimeout(() => finish(unanswered), ANSWER_TIME_MS).unref();
    let later: VirtualTimer | undefined;

    function finish(result: SendResult): void {
      if (!underWay.delete(promise)) return;
      clock.clearTimeout(timer);
      const at = new Date(sentAt);
      const durationMs = clock.now() - sentAt;
      const failed = result.error !== undefined;
      const delivery = { id: randomUUID(), ...parcel, at, durationMs, failed, ...result };
      deliveries.push(delivery);
      if (result.status === null && later === undefined) cancel();
      resolve(delivery);
    }

    function cancel(): void {
      onTheWay.delete(cancel);
      clock.clearTimeout(later);
      network.abort();
    }

    // A delayed delivery still arrives, even long after it failed.
    async function post(): Promise<void> {
      const cut = later && clock.setTimeout(cancel, ANSWER_TIME_MS).unref();
      finish(await transport.send(fault, parcel, network.signal));
      clock.clearTimeout(cut);
      onTheWay.delete(cancel);
    }

    underWay.set(promise, finish);
    onTheWay.add(cancel);
    if (fault.delayMs) later = clock.setTimeout(() => void post(), fault.delayMs).unref();
    else void post();
    return promise;
  }

  return {
    deliveries,
    send(parcel) {
      const fault = faults.take("delivery") ?? {};
      const delivery = dispatch(parcel, fault);
      if (fault.duplicate) void dispatch(parcel, fault);
      return delivery;
    },
    async settled() {
      while (underWay.size > 0) await keepAlive(Promise.all(underWay.keys()));
      transport.assertArrived();
    },
    abort(reason) {
      for (const finish of underWay.values()) finish({ status: null, error: reason });
      for (const cancel of onTheWay) cancel();
      transport.end();
    },
    clear() {
      deliveries.length = 0;
      transport.forget();
    },
  };
}

const unanswered: SendResult = {
  status: null,
  error: `The receiver did not answer within ${ANSWER_TIME_MS / 1_000} seconds.`,
};

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
