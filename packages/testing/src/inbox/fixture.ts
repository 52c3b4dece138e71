import type {
  Act,
  ActOptions,
  AddResult,
  ConsumeOptions,
  Consumer,
  Inbox,
  InboxNotice,
  Job,
  Lease,
  NewDelivery,
  Outcome,
  Parked,
  ReasonCode,
  Selection,
  Stage,
} from "@reporthook/core";
import { actOn } from "@reporthook/core/store";
import { eventually, patiently, same } from "../assert.ts";
import { deferred } from "../deferred.ts";
import { type ManualClock, manualClock } from "../manual-clock.ts";
import { type AddOptions, deliveryMaker, ownClock, type Parts } from "./made.ts";
import type { StandingProcess } from "./time/standing-process.ts";

/** A feature of a store beyond the port that a case needs. */
export type Need =
  | "clock"
  | "order"
  | "reuse"
  | "search"
  | "damage"
  | "process"
  | "ticks"
  | "requests";

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
  /** Acts on an entry by its id, or on a selection, of receiver `a` unless told; resolves to how many. */
  act(act: Act, which: string | Selection, options?: FixtureActOptions): Promise<number>;
  until(check: () => boolean | Promise<boolean>, what: string): Promise<void>;
  patiently<T>(promise: Promise<T>, what: string): Promise<T>;
  /** Makes what the store has of one unreadable, or has it lost. */
  damage(id: string): Promise<void>;
  /** Starts another process on the store, which takes all and stands still. */
  standStill(): Promise<StandingProcess>;
  /** Closes the inbox; fails when something is left running. */
  end(): Promise<void>;
}

/** The receiver whose entries are meant, and the options of an act. */
export interface FixtureActOptions extends ActOptions {
  readonly receiver?: string;
}

/** Options of a consumer; the receiver is "a", and the concurrency 1, unless told. */
export type FixtureConsumeOptions = Partial<
  Pick<ConsumeOptions, "receiver" | "concurrency" | "handleAtOnce">
>;

/** The outcome of a job. */
export type Step = Outcome | ((job: Job, lease: Lease) => Outcome | Promise<Outcome>);

/** A consumer and the jobs it got. */
export interface Consuming {
  readonly consumer: Consumer;
  readonly jobs: readonly Job[];
  readonly errors: readonly unknown[];
  readonly notices: readonly InboxNotice[];
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
  code: ReasonCode,
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

/** The tools that only some stores have. */
export interface FixtureTools {
  readonly damage?: ((inbox: Inbox, id: string) => Promise<void>) | undefined;
  readonly standStill?: ((inbox: Inbox) => Promise<StandingProcess>) | undefined;
}

const noProcess = async (): Promise<never> => {
  throw new Error("How to start another process is not told");
};

type Seen = [Job[], unknown[], InboxNotice[], { job: Job; outcome: Outcome }[]];

/** Makes the fixture of one case. */
export function createInboxFixture(
  inbox: Inbox,
  patienceMs: number,
  { damage = async () => {}, standStill = noProcess }: FixtureTools = {},
): InboxFixture {
  const isOwn = inbox.guarantees.clock === "own";
  const clock = isOwn ? ownClock() : manualClock();
  // All have one time of receipt unless told, as if time stood still: then they are claimed in the order of adding.
  const began = clock.now();
  const consumers: Consumer[] = [];
  const make = deliveryMaker(() => (isOwn ? began : clock.now()));

  const add: InboxFixture["add"] = (delivery, { arrival } = {}) =>
    inbox.add(delivery, arrival ?? { to: "received" });

  function consume(stage: Stage, step: Step, options: FixtureConsumeOptions = {}): Consuming {
    const [jobs, errors, notices, recorded]: Seen = [[], [], [], []];
    const work = async (job: Job, lease: Lease): Promise<Outcome> => {
      jobs.push(job);
      return typeof step === "function" ? step(job, lease) : step;
    };
    const consumer = inbox.consume(stage, work, {
      receiver: "a",
      concurrency: 1,
      ...options,
      clock,
      onError: (error) => void errors.push(error),
      onNotice: (notice) => void notices.push(notice),
      onRecorded: (job, outcome) => void recorded.push({ job, outcome }),
    });
    consumers.push(consumer);
    return { consumer, jobs, errors, notices, recorded };
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
      const consuming = consume(stage, (job, lease) => {
        const step = steps[taken++] ?? later(0);
        if (taken === steps.length) recorded.resolve(consuming.consumer.stop());
        return typeof step === "function" ? step(job, lease) : step;
      });
      await fixture.patiently(recorded.promise, `${steps.length} jobs to ${stage}`);
      return consuming.jobs;
    },
    consume,
    act: (act, which, options) => actAt(inbox, clock.now(), act, which, options),
    until: (check, what) => eventually(check, what, patienceMs),
    patiently: (promise, what) => patiently(promise, what, patienceMs),
    damage: (id) => damage(inbox, id),
    standStill: () => standStill(inbox),
    async end() {
      await fixture.patiently(inbox.close(), "close()");
      same(runningOf(consumers), 0, "Work still running after close()");
      same(clock.pending, 0, "Timers still set after close()");
    },
  };
  return fixture;
}

/** Puts so many, a hundred at once: an inbox may refuse what waits for seconds. Resolves to their ids. */
export async function putMany(
  { put, patiently }: Pick<InboxFixture, "put" | "patiently">,
  count: number,
  parts?: Parts,
): Promise<readonly string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const some = Array.from({ length: Math.min(100, count - ids.length) }, () => put(parts));
    ids.push(...(await patiently(Promise.all(some), "add()")));
  }
  return ids;
}

function runningOf(consumers: readonly Consumer[]): number {
  return consumers.reduce((sum, { running }) => sum + running, 0);
}

async function actAt(
  inbox: Inbox,
  now: number,
  act: Act,
  which: string | Selection,
  { receiver = "a", by, dryRun }: FixtureActOptions = {},
): Promise<number> {
  const selection = typeof which === "string" ? { id: which } : which;
  const query = { ...selection, act, receiver, now, by: by ?? null, dryRun };
  return (await actOn(inbox, query)).total;
}
