import { dedupeKey } from "../../inbox/dedupe-key.ts";
import type { Arrival, Job, NewDelivery, Outcome, Parked, Stage } from "../../inbox/delivery.ts";
import { idAt, newId } from "../../inbox/id.ts";
import type { AddResult, Consumer, Inbox } from "../../inbox/inbox.ts";
import type { StopSignal } from "../../lib/abort.ts";
import { systemClock } from "../../lib/clock.ts";
import { eventually, patiently, same } from "../assert.ts";
import { type ManualClock, manualClock } from "../manual-clock.ts";

/** A feature of a store beyond the port that a case needs. */
export type Need = "clock" | "order" | "reuse" | "search" | "damage";

/** A case as it is written down. */
export interface InboxCase {
  readonly name: string;
  readonly needs?: readonly Need[];
  readonly run: (fixture: InboxFixture) => Promise<void>;
}

/** The tools of a case: a fresh inbox, a clock, and the few steps that cases are made of. */
export interface InboxFixture {
  readonly inbox: Inbox;
  readonly clock: ManualClock;
  /** A signed delivery of receiver `a`, unlike all others unless told. */
  make(parts?: Parts): Promise<NewDelivery>;
  /** Makes and adds one; resolves to its id, and fails unless it was added. */
  put(parts?: Parts): Promise<string>;
  add(delivery: NewDelivery, options?: AddOptions): Promise<AddResult>;
  /** Consumes one by one until each step was taken; resolves to the jobs when all is recorded. */
  work(stage: Stage, ...steps: readonly Step[]): Promise<readonly Job[]>;
  /** Consumes until it is stopped or the case ends. */
  consume(stage: Stage, step: Step, options?: FixtureConsumeOptions): Consuming;
  until(check: () => boolean | Promise<boolean>, what: string): Promise<void>;
  patiently<T>(promise: Promise<T>, what: string): Promise<T>;
  /** Makes what the store has of one unreadable, or has it lost. */
  damage(id: string): Promise<void>;
  /** Closes the inbox; fails when something is left running. */
  end(): Promise<void>;
}

/** The parts of a delivery; the others differ from delivery to delivery. */
export interface Parts extends AddOptions {
  readonly receiver?: string;
  /** Null for none. */
  readonly signature?: string | null;
  readonly body?: string | Uint8Array;
  readonly url?: string;
  readonly context?: string | null;
  /** When it was received; now. */
  readonly at?: number;
}

/** How a delivery is added. */
export interface AddOptions {
  readonly arrival?: Arrival;
}

/** The receiver that consumes, and its concurrency. */
export interface FixtureConsumeOptions {
  readonly receiver?: string;
  readonly concurrency?: number;
  /** Handles deliveries right after their verdict. */
  readonly atOnce?: (job: Job, signal: StopSignal) => Promise<Outcome> | null;
}

/** The outcome of a job. */
export type Step = Outcome | ((job: Job, signal: StopSignal) => Outcome | Promise<Outcome>);

/** A consumer and the jobs it got. */
export interface Consuming {
  readonly consumer: Consumer;
  readonly jobs: readonly Job[];
  readonly errors: readonly unknown[];
  /** The outcomes that were reported as recorded. */
  readonly recorded: readonly { readonly job: Job; readonly outcome: Outcome }[];
}

/** The verdict "valid", with what recognition found. */
export const valid: Outcome = {
  to: "verified",
  verification: "valid",
  type: "report.complete",
  reportId: "r-1",
};
/** All handlers succeeded. */
export const handled: Outcome = { to: "handled" };

/** Makes an outcome that parks or rejects a delivery. */
export function endedAs(
  to: "held" | "rejected" | "dead",
  code: NonNullable<Job["reason"]>["code"],
  rest: Partial<Omit<Parked, "to">> = {},
): Outcome {
  const outcome = { reason: { code, message: `because: ${code}` }, error: null, ...rest };
  return to === "rejected" ? { to, ...outcome } : { to, ...outcome };
}

/** Makes an outcome that runs the stage again. */
export function later(
  afterMs: number,
  rest: Partial<Extract<Outcome, { to: "retry" }>> = {},
): Outcome {
  return { to: "retry", afterMs, error: "not yet", countsAsAttempt: true, ...rest };
}

/** A promise and what resolves it. */
export function deferred<T = void>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
} {
  let resolve: (value: T | PromiseLike<T>) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Makes the fixture of one case. */
export function createInboxFixture(
  inbox: Inbox,
  patienceMs: number,
  damage: (inbox: Inbox, id: string) => Promise<void> = async () => {},
): InboxFixture {
  const isOwn = inbox.guarantees.clock === "own";
  const clock = isOwn ? ownClock() : manualClock();
  // All have one time of receipt unless told, as if time stood still: then they are claimed in the order of adding.
  const began = clock.now();
  const consumers: Consumer[] = [];
  const make = deliveryMaker(() => (isOwn ? began : clock.now()));

  function add(delivery: NewDelivery, options: AddOptions = {}): Promise<AddResult> {
    return inbox.add(delivery, options.arrival ?? { to: "received" });
  }

  function consume(stage: Stage, step: Step, options: FixtureConsumeOptions = {}): Consuming {
    const { receiver = "a", concurrency = 1, atOnce } = options;
    const jobs: Job[] = [];
    const errors: unknown[] = [];
    const work = async (job: Job, signal: StopSignal): Promise<Outcome> => {
      jobs.push(job);
      return typeof step === "function" ? step(job, signal) : step;
    };
    const recorded: { job: Job; outcome: Outcome }[] = [];
    const consumer = inbox.consume(stage, work, {
      ...{ receiver, concurrency, clock },
      onError: (error) => void errors.push(error),
      onRecorded: (job, outcome) => void recorded.push({ job, outcome }),
      ...(atOnce && { handleAtOnce: atOnce }),
    });
    consumers.push(consumer);
    return { consumer, jobs, errors, recorded };
  }

  const fixture: InboxFixture = {
    inbox,
    clock,
    make,
    async put(parts = {}) {
      const delivery = await make(parts);
      const { status, id } = await add(delivery, parts);
      same({ status, id }, { status: "added", id: delivery.id }, "What add() answered");
      return id;
    },
    add,
    async work(stage, ...steps) {
      const recorded = deferred();
      let taken = 0;
      const consuming = consume(stage, (job, signal) => {
        const step = steps[taken++] ?? later(0);
        if (taken === steps.length) recorded.resolve(consuming.consumer.stop());
        return typeof step === "function" ? step(job, signal) : step;
      });
      await fixture.patiently(recorded.promise, `${steps.length} jobs to ${stage}`);
      return consuming.jobs;
    },
    consume,
    until: (check, what) => eventually(check, what, patienceMs),
    patiently: (promise, what) => patiently(promise, what, patienceMs),
    damage: (id) => damage(inbox, id),
    async end() {
      await fixture.patiently(inbox.close(), "close()");
      const running = consumers.reduce((sum, consumer) => sum + consumer.running, 0);
      same(running, 0, "Work still running after close()");
      same(clock.pending, 0, "Timers still set after close()");
    },
  };
  return fixture;
}

/** Makes deliveries with ids in the order of making; `now` gives their time of receipt. */
function deliveryMaker(now: () => number): (parts?: Parts) => Promise<NewDelivery> {
  let made = 0;
  return async (parts = {}) => {
    const number = ++made;
    const {
      receiver = "a",
      signature = `signature ${number}`,
      url = "/hook?x=1",
      context = null,
    } = parts;
    const given = parts.body ?? JSON.stringify({ number });
    const body = typeof given === "string" ? new TextEncoder().encode(given) : given;
    const receivedAt = parts.at ?? now();
    const arrivedAt = Math.min(receivedAt, now());
    // Ids begin with the time of receipt and continue in the order of making.
    const id = idAt(receivedAt) + String(number).padStart(6, "0") + newId(receivedAt).slice(16);
    return {
      ...{
        id,
        receiver,
        receivedAt,
        arrivedAt,
        signature,
        url,
        context,
        body,
        ackMs: 1.5,
      },
      headers: { "content-type": "application/json", "user-agent": "contract" },
      key: signature === null ? null : await dedupeKey({ receiver, signature, url, body }),
    };
  };
}

function ownClock(): ManualClock {
  const advance = (): never => {
    throw new Error("The store keeps its own time: this case must be skipped for it");
  };
  const { now } = systemClock;
  return {
    ...systemClock,
    advance,
    pending: 0,
    ...{ running: now, wallNow: now },
    wallOffset: 0,
    knownSince: 0,
  };
}
