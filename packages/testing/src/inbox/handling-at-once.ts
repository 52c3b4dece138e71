import type { Arrival, Consumer, EntryDetails, Job, Lease, Outcome, State } from "@reporthook/core";
import { isAttempt } from "@reporthook/core/store";
import { same, truly } from "../assert.ts";
import { deferred } from "../deferred.ts";
import { endedAs, handled, type InboxCase, type InboxFixture, later, valid } from "./fixture.ts";

const verified: Arrival = {
  to: "verified",
  verification: "valid",
  type: "report.complete",
  reportId: "r-1",
};

/** The promises about `handleAtOnce`: with any use of it, each delivery is handled once and nothing is lost. */
export const handlingAtOnce: readonly InboxCase[] = [
  {
    name: "handleAtOnce: verdict and result are recorded and told in their order, and handled once",
    async run(fixture) {
      const id = await fixture.put();
      const { stages, recorded } = start(fixture, async () => handled);
      const entry = await settled(fixture, id, "handled");
      same(
        [entry.verification, entry.type, entry.reportId, entry.attempts, entry.reason],
        ["valid", "report.complete", "r-1", 1, null],
        "The entry",
      );
      same(
        entry.history.filter(isAttempt).map(({ stage, outcome }) => [stage, outcome]),
        [
          ["verify", "verified"],
          ["handle", "handled"],
        ],
        "The history",
      );
      await fixture.until(() => recorded().length === 2, "both are told");
      same(
        recorded(),
        [
          ["verify", "received", "verified"],
          ["handle", "verified", "handled"],
        ],
        "What was told: stage, state before, outcome",
      );
      same(stages, ["verify", "handle"], "What ran");
      same((await fixture.inbox.counts("a")).handled, 1, "How many are handled");
    },
  },
  {
    name: "handleAtOnce gets a verified delivery, which has no signature any more",
    async run(fixture) {
      await fixture.put();
      const { handling } = start(fixture, async () => handled);
      await fixture.until(() => handling.length === 1, "it is handled");
      const [job] = handling;
      same(
        [job?.stage, job?.state, job?.verification, job?.signature, job?.type, job?.attempts],
        ["handle", "verified", "valid", null, "report.complete", 0],
        "The job",
      );
      truly((job?.body.byteLength ?? 0) > 0, "The job has its body");
    },
  },
  {
    name: "handleAtOnce: the verdict is recorded while handling takes long, and nobody else is handed the delivery",
    async run(fixture) {
      const id = await fixture.put();
      const door = deferred();
      const { handling } = start(fixture, async (job) => {
        if (job.id === id) await door.promise;
        return handled;
      });
      await fixture.until(() => handling.length === 1, "it is being handled");
      if (fixture.inbox.guarantees.clock === "given") fixture.clock.advance(1_000);
      const entry = await settled(fixture, id, "verified");
      same(entry.verification, "valid", "The verdict");
      const other = fixture.consume("handle", handled);
      const sentinel = await fixture.put({ arrival: verified });
      await settled(fixture, sentinel, "handled");
      door.resolve();
      await settled(fixture, id, "handled");
      const times = [...handling, ...other.jobs].filter((job) => job.id === id).length;
      same(times, 1, "How often it was handled");
    },
  },
  {
    name: "handleAtOnce may refuse a delivery, which is then handed out to be handled",
    async run(fixture) {
      const id = await fixture.put();
      const { consumer } = fixture.consume("verify", valid, { handleAtOnce: () => null });
      await settled(fixture, id, "verified");
      await fixture.patiently(consumer.stop(), "stop()");
      const [job] = await fixture.work("handle", handled);
      same(job?.id, id, "What was handed out");
    },
  },
  {
    name: "handleAtOnce has a failure retried, and a final failure parked",
    async run(fixture) {
      const ids = [await fixture.put(), await fixture.put()];
      const outcomes = new Map<string, Outcome>([
        [ids[0] ?? "", later(0, { error: "Error: 'no'" })],
        [ids[1] ?? "", endedAs("dead", "do_not_retry", { error: "never" })],
      ]);
      start(fixture, async ({ id }) => {
        const outcome = outcomes.get(id);
        outcomes.delete(id);
        return outcome ?? handled;
      });
      const retried = await settled(fixture, ids[0] ?? "", "handled");
      same([retried.attempts, retried.history.length], [2, 3], "Attempts and history");
      const dead = await settled(fixture, ids[1] ?? "", "dead");
      same([dead.reason?.code, dead.lastError], ["do_not_retry", "never"], "Why it is dead");
    },
  },
  {
    name: "handleAtOnce: stop() waits for it, abort() ends it, and the delivery waits to be handled again",
    async run(fixture) {
      const id = await fixture.put();
      const { consumers, handling } = start(fixture, (_, { signal }) => {
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve(later(0, { countsAsAttempt: false })));
        });
      });
      await fixture.until(() => handling.length === 1, "it is being handled");
      let stopped = false;
      const stopping = Promise.all(consumers.map((one) => one.stop())).then(() => {
        stopped = true;
      });
      const sentinel = await fixture.put({ arrival: verified });
      await fixture.work("handle", handled);
      same((await fixture.inbox.get(sentinel))?.state, "handled", "Another one, meanwhile");
      same(stopped, false, "Whether it stopped while work was running");
      await fixture.patiently(Promise.all(consumers.map((one) => one.abort())), "abort()");
      await fixture.patiently(stopping, "stop()");
      const entry = await settled(fixture, id, "verified");
      same([entry.attempts, entry.verification], [0, "valid"], "Attempts and verdict");
      const [job] = await fixture.work("handle", handled);
      same(job?.id, id, "What is handed out again");
    },
  },
];

type Work = (job: Job, lease: Lease) => Promise<Outcome>;

/** Verifies and handles, at once where the inbox has it so. */
function start(fixture: InboxFixture, work: Work): Started {
  const handling: Job[] = [];
  const stages: string[] = [];
  const verify: Work = async () => {
    stages.push("verify");
    return valid;
  };
  const handle: Work = (job, lease) => {
    stages.push("handle");
    handling.push(job);
    return work(job, lease);
  };
  const both = [
    fixture.consume("verify", verify, { handleAtOnce: handle }),
    fixture.consume("handle", handle),
  ];
  return {
    handling,
    stages,
    consumers: both.map(({ consumer }) => consumer),
    recorded: () =>
      both
        .flatMap(({ recorded }) => recorded)
        .map(({ job, outcome }) => [job.stage, job.state, outcome.to]),
  };
}

/** The started consumers and their results. */
interface Started {
  readonly consumers: readonly Consumer[];
  /** The jobs that were handled. */
  readonly handling: readonly Job[];
  /** The stages, in the order of their work. */
  readonly stages: readonly string[];
  /** The reported outcomes: stage, state before, outcome. */
  readonly recorded: () => readonly (readonly string[])[];
}

async function settled(fixture: InboxFixture, id: string, state: State): Promise<EntryDetails> {
  let entry = await fixture.inbox.get(id);
  await fixture.until(async () => {
    entry = await fixture.inbox.get(id);
    return entry?.state === state;
  }, `it is ${state}`);
  if (entry === null) throw new Error(`${id} is gone`);
  return entry;
}
