import type { Job } from "../delivery.ts";
import { same, truly } from "./assert.ts";
import { deferred, handled, later, left, valid, type Written } from "./inbox-bench.ts";

const minuteMs = 60_000;

/** What `consume` promises. */
export const working: readonly Written[] = [
  {
    name: "consume() hands out each entry to exactly one worker",
    async run({ inbox, put, consume, until }) {
      const ids: string[] = [];
      for (let count = 0; count < 200; count++) ids.push(await put());
      const workers = [1, 2].map(() => consume("verify", valid, { concurrency: 4 }));
      await until(async () => (await inbox.counts("a")).verified === 200, "all are verified");
      const handed = workers.flatMap(({ jobs }) => jobs.map(({ id }) => id));
      same(handed.sort(), ids.sort(), "What was handed out");
      await Promise.all(workers.map(({ consumer }) => consumer.stop()));
    },
  },
  {
    name: "consume() hands out what is there already, and what comes later",
    async run({ put, consume, until }) {
      const first = await put();
      const { jobs } = consume("verify", valid);
      await until(() => jobs.length === 1, "the first is handed out");
      const second = await put();
      await until(() => jobs.length === 2, "the second is handed out");
      same(
        jobs.map(({ id }) => id),
        [first, second],
        "What was handed out",
      );
    },
  },
  {
    name: "consume() runs as many at once as it may, each stage by itself",
    async run({ inbox, put, consume, until, patiently }) {
      for (let count = 0; count < 10; count++) await put();
      const doors = Array.from({ length: 10 }, () => deferred());
      let [now, most] = [0, 0];
      const verifying = consume(
        "verify",
        async (): Promise<typeof valid> => {
          const door = doors[verifying.jobs.length - 1];
          most = Math.max(most, ++now);
          await door?.promise;
          now--;
          return valid;
        },
        { concurrency: 3 },
      );
      await until(() => verifying.jobs.length === 3, "three run");
      same(verifying.consumer.running, 3, "How many run");
      const handling = consume("handle", handled, { concurrency: 2 });
      doors[1]?.resolve();
      await until(() => handling.jobs.length === 1, "one is handled while others are verified");
      await until(() => verifying.jobs.length === 4, "a fourth one runs");
      for (const { resolve } of doors) resolve();
      await until(async () => (await inbox.counts("a")).handled === 10, "all are handled");
      same(most, 3, "How many ran at once");
      await patiently(Promise.all([verifying.consumer.stop(), handling.consumer.stop()]), "stop()");
      same(verifying.consumer.running, 0, "How many run in the end");
    },
  },
  {
    name: "consume() hands out only entries of its stage and its receiver",
    async run({ inbox, put, work, consume, until }) {
      await put({ receiver: "b" });
      const id = await put();
      const handling = consume("handle", handled);
      const [job] = await work("verify", valid);
      same(job?.id, id, "What was handed out");
      await until(async () => (await inbox.counts("a")).handled === 1, "it is handled");
      same(
        handling.jobs.map(({ stage }) => stage),
        ["handle"],
        "What was handed out to handle",
      );
      same((await inbox.counts("b")).received, 1, "What waits for the other receiver");
    },
  },
  {
    name: "consume() has the oldest verified first while its signature may be valid, then those past it",
    needs: ["order", "clock"],
    async run({ clock, put, work }) {
      const at = (ms: number) => put({ at: clock.now() - ms });
      const [late, young, old] = [await at(6 * minuteMs), await at(1_000), await at(4 * minuteMs)];
      const middle = await at(minuteMs);
      const jobs = await work("verify", valid, valid, valid, valid);
      same(
        jobs.map(({ id }) => id),
        [old, middle, young, late],
        "The order",
      );
    },
  },
  {
    name: "consume() has what becomes late while it waits verified after the others",
    needs: ["order", "clock"],
    async run({ clock, put, work }) {
      const old = await put();
      clock.advance(4 * minuteMs);
      const young = await put();
      clock.advance(2 * minuteMs);
      const jobs = await work("verify", valid, valid);
      same(
        jobs.map(({ id }) => id),
        [young, old],
        "The order",
      );
    },
  },
  {
    name: "consume() has what gives way worked on after all others, and not counted as unverified",
    needs: ["order"],
    async run({ inbox, put, work }) {
      const first = await put();
      await work("verify", later(0, { giveWay: true }));
      same(inbox.load("a").unverified, 0, "How many count as unverified");
      same(inbox.load("a").waiting, 1, "How many wait");
      const others = [await put(), await put()];
      const jobs = await work("verify", valid, valid, valid);
      same(
        jobs.map(({ id }) => id),
        [...others, first],
        "The order",
      );
    },
  },
  {
    name: "consume() has entries handled in the order in which they come due",
    needs: ["order", "clock"],
    async run({ clock, put, work }) {
      const ids = [await put(), await put(), await put()];
      await work("verify", valid, valid, valid);
      await work("handle", later(3_000), later(1_000), later(2_000));
      clock.advance(5_000);
      const last = await put();
      await work("verify", valid);
      const jobs = await work("handle", handled, handled, handled, handled);
      same(
        jobs.map(({ id }) => id),
        [ids[1], ids[2], ids[0], last],
        "The order",
      );
    },
  },
  {
    name: "consume() hands out nothing before it is due",
    needs: ["clock"],
    async run({ inbox, clock, put, work, consume, until }) {
      const id = await put();
      await work("verify", later(minuteMs));
      const due = clock.now() + minuteMs;
      same((await inbox.get(id))?.nextAttemptAt, new Date(due), "When the next attempt is due");
      const { jobs } = consume("verify", valid);
      clock.advance(minuteMs - 1);
      const sentinel = await put();
      await until(async () => (await inbox.get(sentinel))?.state === "verified", "another is done");
      same(
        jobs.map((job) => job.id),
        [sentinel],
        "What was handed out before",
      );
      clock.advance(1);
      await until(() => jobs.length === 2, "it is handed out when due");
      same(jobs[1]?.id, id, "What was handed out then");
    },
  },
  {
    name: "consume() records a verdict: the entry goes on to handle, without its signature",
    async run({ inbox, put, work }) {
      const id = await put();
      await work("verify", later(0), valid);
      const entry = await inbox.get(id);
      same(
        [entry?.state, entry?.type, entry?.reportId, entry?.verification, entry?.attempts],
        ["verified", "report.complete", "r-1", "valid", 0],
        "The entry",
      );
      same(entry?.lastError, null, "The last error");
      const [job] = await work("handle", handled);
      same(
        [job?.id, job?.stage, job?.signature, job?.verification, job?.type, job?.attempts],
        [id, "handle", null, "valid", "report.complete", 0],
        "The job",
      );
    },
  },
  {
    name: "consume() records the end of handling",
    async run({ inbox, put, work }) {
      const [done, dead, held] = [await put(), await put(), await put()];
      const unknown = { ...valid, type: null, reportId: null };
      await work("verify", unknown, unknown, unknown);
      const found = { type: "report.processing", reportId: "r-2" } as const;
      await work(
        "handle",
        { to: "handled", ...found },
        left("dead", "attempts_used_up", { error: "Error: 'no'", ...found }),
        left("held", "no_handler"),
      );
      const shown = async (id: string): Promise<unknown[]> => {
        const entry = await inbox.get(id);
        const { state, reason, type, reportId, attempts, lastError, nextAttemptAt } = entry ?? {};
        return [
          state,
          reason?.code,
          reason?.message,
          type,
          reportId,
          attempts,
          lastError,
          nextAttemptAt,
        ];
      };
      const ofReport = ["report.processing", "r-2"];
      same(
        await shown(done),
        ["handled", undefined, undefined, ...ofReport, 1, null, null],
        "Handled",
      );
      same(
        await shown(dead),
        [
          "dead",
          "attempts_used_up",
          "because: attempts_used_up",
          ...ofReport,
          1,
          "Error: 'no'",
          null,
        ],
        "Dead",
      );
      same(
        await shown(held),
        ["held", "no_handler", "because: no_handler", null, null, 1, null, null],
        "Held",
      );
    },
  },
  {
    name: "consume() records a rejection, and keeps no body of it",
    async run({ inbox, put, work }) {
      const id = await put();
      await work("verify", left("rejected", "invalid_signature"));
      const entry = await inbox.get(id);
      same(
        [entry?.state, entry?.reason?.code, entry?.body, entry?.attempts],
        ["rejected", "invalid_signature", null, 1],
        "The entry",
      );
      same(
        (await inbox.list({ state: "rejected" })).map((one) => one.id),
        [id],
        "The list",
      );
    },
  },
  {
    name: "consume() hands a job back with its attempts, memo and last error",
    async run({ inbox, put, work }) {
      const id = await put();
      const jobs = await work(
        "verify",
        later(0, { memo: "m1", error: "first" }),
        later(0, { counts: false, error: "second" }),
        later(0, { memo: "m2" }),
        valid,
      );
      const seen = jobs.map((job) => [job.id, job.attempts, job.memo, job.lastError]);
      const expected = [
        [id, 0, null, null],
        [id, 1, "m1", "first"],
        [id, 1, "m1", "second"],
        [id, 2, "m2", "not yet"],
      ];
      same(seen, expected, "The jobs");
      const [job] = await work("handle", later(0));
      same([job?.memo, job?.attempts], [null, 0], "Memo and attempts in the next stage");
      same((await inbox.get(id))?.state, "verified", "The state");
    },
  },
  {
    name: "consume() remembers of an attempt that is to be made again what was recognised",
    async run({ inbox, put, work }) {
      const id = await put();
      await work("verify", { ...valid, type: null, reportId: null });
      await work("handle", later(0, { type: "report.complete", reportId: "9" }));
      const entry = await inbox.get(id);
      same([entry?.type, entry?.reportId], ["report.complete", "9"], "The entry");
    },
  },
  {
    name: "consume() tells of work that rejects, and has it come again after a second",
    async run({ inbox, clock, put, consume, until }) {
      const id = await put();
      const steps = [
        () => Promise.reject(new RangeError("broken")),
        () => {
          throw new RangeError("broken at once");
        },
        () => valid,
      ];
      const { jobs, errors } = consume("verify", () => steps[jobs.length - 1]?.() ?? valid);
      const attempts = async () => (await inbox.get(id))?.attempts;
      await until(async () => jobs.length > 1 || (await attempts()) === 1, "it is recorded");
      same(errors.length, 1, "How many errors were told");
      truly(String((await inbox.get(id))?.lastError).includes("broken"), "the error is kept");
      if (inbox.guarantees.clock === "given") {
        await until(() => clock.pending > 0 || jobs.length > 1, "it waits");
        same(jobs.length, 1, "How often it was handed out within the second");
        clock.advance(1_000);
        await until(async () => (await attempts()) === 2, "it is recorded again");
        clock.advance(1_000);
      }
      await until(async () => (await inbox.get(id))?.state === "verified", "it is verified");
      same(
        jobs.map((job) => job.attempts),
        [0, 1, 2],
        "The attempts of the jobs",
      );
    },
  },
  {
    name: "consume() keeps the last 20 attempts of each stage",
    async run({ inbox, clock, put, work }) {
      const id = await put();
      const begin = clock.now();
      const many = Array.from({ length: 24 }, (_, index) => later(0, { error: `no ${index}` }));
      await work("verify", ...many, valid);
      await work("handle", ...many, left("dead", "do_not_retry", { error: "last" }));
      const history = (await inbox.get(id))?.history ?? [];
      const ofStage = (stage: string) => history.filter((attempt) => attempt.stage === stage);
      const errors = Array.from({ length: 19 }, (_, index) => `no ${index + 5}`);
      const again = errors.map(() => "again");
      same(
        ofStage("verify").map(({ error }) => error),
        [...errors, null],
        "Errors of verify",
      );
      same(
        ofStage("handle").map(({ error }) => error),
        [...errors, "last"],
        "Errors of handle",
      );
      same(
        ofStage("verify").map(({ outcome }) => outcome),
        [...again, "verified"],
        "Of verify",
      );
      same(
        ofStage("handle").map(({ outcome }) => outcome),
        [...again, "dead"],
        "Of handle",
      );
      truly(
        history.every(({ at, ms }) => at.getTime() >= begin && ms >= 0),
        "each attempt has its time and duration",
      );
    },
  },
  {
    name: "history shows when an attempt began and how long it took",
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
    name: "stop() waits until what runs is recorded, and takes up nothing new",
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
    name: "abort() gives back what runs, uncounted, and drops what comes of it later",
    async run({ inbox, put, consume, until, patiently, work }) {
      const id = await put();
      await work("verify", later(0, { memo: "m" }));
      const [door, returned] = [deferred(), deferred()];
      let signal: AbortSignal | undefined;
      const { consumer, jobs, errors } = consume("verify", async (_job, given) => {
        signal = given;
        await door.promise;
        returned.resolve();
        return left("dead", "do_not_retry");
      });
      await until(() => jobs.length === 1, "it runs");
      same(signal?.aborted, false, "Whether the signal is aborted before");
      await patiently(consumer.abort(), "abort() of work that goes on");
      same([signal?.aborted, consumer.running], [true, 0], "The signal, and how many run");
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
        again.map((job) => [job.attempts, job.memo]),
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
        (_job, signal) =>
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
];
