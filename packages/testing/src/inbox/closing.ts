import type { Job, Lease } from "@reporthook/core";
import { same } from "../assert.ts";
import { deferred } from "../deferred.ts";
import { nextTurn } from "../runtime.ts";
import { endedAs, handled, type InboxCase, later, valid } from "./fixture.ts";

const minuteMs = 60_000;

/** The promises of `stop`, `abort` and `close`. */
export const closing: readonly InboxCase[] = [
  {
    name: "the history shows when an attempt began and how long it took",
    needs: ["clock"],
    async run({ inbox, clock, put, work }) {
      const id = await put();
      clock.advance(500);
      const at = new Date(clock.now());
      await work("verify", () => {
        clock.advance(250);
        return valid;
      });
      const attempt = { stage: "verify", at, ms: 250, outcome: "verified", error: null };
      same((await inbox.get(id))?.history, [attempt], "The history");
    },
  },
  {
    name: "stop() waits until running work is recorded, and takes up no more",
    async run({ inbox, put, consume, until, patiently }) {
      const ids = [await put(), await put()];
      const door = deferred();
      const { consumer, jobs } = consume("verify", async () => {
        await door.promise;
        return valid;
      });
      await until(() => jobs.length === 1, "one runs");
      let stopped = false;
      const stopping = consumer.stop().then(() => {
        stopped = true;
      });
      const other = await put();
      const seen = deferred();
      const next = consume("verify", () => {
        seen.resolve();
        return valid;
      });
      await patiently(seen.promise, "another worker takes up the next");
      same(stopped, false, "Whether it stopped while work was running");
      door.resolve();
      await patiently(Promise.all([stopping, consumer.stop()]), "stop()");
      same((await inbox.get(jobs[0]?.id ?? ""))?.state, "verified", "What ran");
      same([jobs.length, consumer.running], [1, 0], "How many it was handed, and how many run");
      await until(async () => (await inbox.counts("a")).verified === 3, "the rest is done");
      const rest = [...ids, other].filter((id) => id !== jobs[0]?.id);
      same(next.jobs.map(({ id }) => id).sort(), rest.sort(), "What the other worker did");
    },
  },
  {
    name: "stop() gives back a delivery that is on its way to the consumer",
    async run({ inbox, put, consume, until, patiently }) {
      const rounds = 12;
      for (let round = 0; round < rounds; round++) {
        const { consumer } = consume("verify", valid);
        const id = await put();
        await until(async () => (await inbox.get(id))?.state === "verified", "it is recorded");
        const adding = put();
        for (let turn = 0; turn <= round % 4; turn++) await nextTurn();
        await patiently(consumer.stop(), "stop()");
        await adding;
      }
      consume("verify", valid);
      const isDone = async () => (await inbox.counts("a")).verified === 2 * rounds;
      await until(isDone, "all are worked on");
    },
  },
  {
    name: "abort() gives running deliveries back without a counted attempt, and drops their later results",
    async run({ inbox, put, consume, until, patiently, work }) {
      const id = await put();
      await work("verify", later(0, { retryState: "m" }));
      const [door, returned] = [deferred(), deferred()];
      let lease: Lease | undefined;
      const { consumer, jobs, errors } = consume("verify", async (_job, given) => {
        lease = given;
        await door.promise;
        returned.resolve();
        return endedAs("dead", "do_not_retry");
      });
      await until(() => jobs.length === 1, "it runs");
      same(lease?.signal.aborted, false, "Whether the signal is aborted before");
      await patiently(consumer.abort(), "abort() of work that goes on");
      same([lease?.signal.aborted, consumer.running], [true, 0], "The signal, and how many run");
      const entry = await inbox.get(id);
      same([entry?.state, entry?.attempts], ["received", 1], "The entry");
      const again: Job[] = [];
      const second = consume("verify", async (job) => {
        again.push(job);
        door.resolve();
        await returned.promise;
        return valid;
      });
      await until(async () => (await inbox.get(id))?.state === "verified", "it is verified");
      same(
        again.map((job) => [job.attempts, job.retryState]),
        [[1, "m"]],
        "The job of the next worker",
      );
      await second.consumer.stop();
      same((await inbox.get(id))?.state, "verified", "What the first worker's result changed");
      same(errors, [], "The errors told");
    },
  },
  {
    name: "abort() does not count work that rejects because of it",
    async run({ inbox, put, consume, until, patiently }) {
      const id = await put();
      const { consumer, jobs, errors } = consume(
        "verify",
        (_job, { signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          }),
      );
      await until(() => jobs.length === 1, "it runs");
      await patiently(consumer.abort(), "abort()");
      await patiently(consumer.abort(), "a second abort()");
      const entry = await inbox.get(id);
      same([entry?.state, entry?.attempts], ["received", 0], "The entry");
      same(errors, [], "The errors told");
    },
  },
  {
    name: "close() ends all work, and leaves nothing running",
    async run({ inbox, put, work, consume, until, patiently }) {
      await put();
      await work("verify", later(minuteMs));
      await put();
      const { consumer, jobs } = consume("verify", () => new Promise(() => {}));
      consume("handle", handled);
      await until(() => jobs.length === 1, "it runs");
      await patiently(inbox.close(), "close() while work runs");
      same(consumer.running, 0, "How many run");
      await patiently(consumer.stop(), "stop() after close()");
    },
  },
  {
    name: "a consumer that begins while close() runs works on",
    async run({ inbox, put, consume, until, patiently }) {
      const before = consume("verify", valid);
      await put();
      await until(() => before.jobs.length === 1, "it is handed out");
      const closing = inbox.close();
      const { jobs } = consume("verify", valid);
      await patiently(closing, "close()");
      const id = await put();
      await until(() => jobs.some((job) => job.id === id), "it is handed out");
      await until(async () => (await inbox.get(id))?.state === "verified", "it is recorded");
    },
  },
  {
    name: "a second close() ends a consumer that began during the first",
    async run({ inbox, put, consume, until, patiently }) {
      await put();
      const closing = inbox.close();
      const early = consume("verify", valid);
      await patiently(Promise.all([inbox.close(), closing]), "both calls of close()");
      const id = await put();
      const late = consume("verify", valid, { concurrency: 2 });
      await until(() => late.jobs.some((job) => job.id === id), "another worker does it");
      const isEarly = early.jobs.some((job) => job.id === id);
      same([isEarly, early.consumer.running], [false, 0], "What the first one does");
    },
  },
];
