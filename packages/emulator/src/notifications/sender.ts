import { randomUUID } from "node:crypto";
import type { VirtualClock, VirtualTimer } from "../lib/clock.ts";
import type { FaultOptions, Faults } from "../lib/faults.ts";
import { keepAlive } from "../lib/keep-alive.ts";
import { readUpTo } from "../lib/read-up-to.ts";
import { untraced } from "../lib/untraced.ts";
import type { Notification, NotificationName } from "./notification.ts";

/** Delivers a notification to its receiver instead of the network. */
export type Deliver = (request: Request) => Response | Promise<Response>;

/** A sent notification and its result, recorded on completion. */
export interface Delivery {
  readonly id: string;
  /** The `webhook_url` it went to. */
  readonly url: string;
  readonly name: NotificationName;
  /** The report's id; null for a test. */
  readonly reportId: string | null;
  /** The notification that was sent. */
  readonly notification: Notification;
  /** Time of sending, by the emulator's clock. */
  readonly at: Date;
  /** Duration from sending to the whole answer, by the emulator's clock. */
  readonly durationMs: number;
  /** The answer's HTTP status; null without an answer. */
  readonly status: number | null;
  /** The answer's text, its first 64 KiB. */
  readonly body?: string;
  /** Whether it was not answered 2xx within 5 seconds (the service's document, sections Events and Limits). */
  readonly failed: boolean;
  /** The reason of the failure. */
  readonly error?: string;
}

/** A notification and its target. */
export type OutgoingNotification = Pick<Delivery, "url" | "name" | "reportId" | "notification">;

/** Sends notifications and records each result. */
export interface Sender {
  readonly deliveries: readonly Delivery[];
  /** Sends immediately, once, without retries; never rejects. */
  send(parcel: OutgoingNotification): Promise<Delivery>;
  /** Resolves once no delivery is under way. */
  settled(): Promise<void>;
  /** Fails all running deliveries immediately. */
  abort(reason: string): void;
  /** Deletes the recorded deliveries. */
  clear(): void;
}

/** The outbox's dependencies. */
export interface SenderParts {
  readonly clock: VirtualClock;
  readonly faults: Faults;
  /** Default: the global `fetch`, looked up for each delivery. */
  readonly deliver?: Deliver | undefined;
}

type Outcome = Pick<Delivery, "status" | "body" | "error">;

const ANSWER_TIME_MS = 5_000;
const ANSWER_BYTES = 65_536;

/** Creates an empty outbox (the service's document, section Events). */
export function createSender({ clock, faults, deliver }: SenderParts): Sender {
  const deliveries: Delivery[] = [];
  const onTheWay = new Set<() => void>();
  const underWay = new Map<Promise<Delivery>, (outcome: Outcome) => void>();
  const carry: Deliver = deliver ?? ((request) => untraced(() => globalThis.fetch(request)));

  function dispatch(parcel: OutgoingNotification, fault: FaultOptions): Promise<Delivery> {
    const { promise, resolve } = deferred<Delivery>();
    const network = new AbortController();
    const sentAt = clock.now();
    const timer = clock.setTimeout(() => finish(unanswered), ANSWER_TIME_MS).unref();
    let later: VirtualTimer | undefined;

    function finish(outcome: Outcome): void {
      if (!underWay.delete(promise)) return;
      clock.clearTimeout(timer);
      const at = new Date(sentAt);
      const durationMs = clock.now() - sentAt;
      const failed = outcome.error !== undefined;
      const delivery = { id: randomUUID(), ...parcel, at, durationMs, failed, ...outcome };
      deliveries.push(delivery);
      if (outcome.status === null && later === undefined) cancel();
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
      finish(await attempt(fault, carry, parcel, network.signal));
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
    },
    abort(reason) {
      for (const finish of underWay.values()) finish({ status: null, error: reason });
      for (const cancel of onTheWay) cancel();
    },
    clear() {
      deliveries.length = 0;
    },
  };
}

const unanswered: Outcome = {
  status: null,
  error: `The receiver did not answer within ${ANSWER_TIME_MS / 1_000} seconds.`,
};

/** Sends once. It always has an outcome and never rejects. */
async function attempt(
  fault: FaultOptions,
  carry: Deliver,
  { url, notification }: OutgoingNotification,
  signal: AbortSignal,
): Promise<Outcome> {
  if (fault.drop) return { status: null, error: "A fault dropped the delivery." };
  if (fault.status !== undefined) return answered(fault.status, "");
  try {
    // Redirects are not followed: a 3xx is not 2xx.
    const init: RequestInit = { ...notification, redirect: "manual", signal };
    const response = await carry(new Request(url, init));
    const { bytes } = await readUpTo(response.body, ANSWER_BYTES, signal);
    return answered(response.status, new TextDecoder().decode(bytes));
  } catch (error) {
    return { status: null, error: `The receiver could not be reached: ${reasonOf(error)}` };
  }
}

function answered(status: number, body: string): Outcome {
  if (status >= 200 && status <= 299) return { status, body };
  return { status, body, error: `The receiver answered ${status}, not 2xx.` };
}

/** The message of the innermost cause: fetch itself only says that it failed. */
function reasonOf(error: unknown): string {
  // Not instanceof: under Jest the errors of fetch come from another realm.
  if (typeof error !== "object" || error === null) return String(error);
  const { cause, message, code, name }: Partial<NodeJS.ErrnoException> = error;
  if (cause !== undefined) return reasonOf(cause);
  return message || String(code ?? name);
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
