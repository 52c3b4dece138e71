import { isAttempt } from "@reporthook/core/store";
import { same, sameEach, truly } from "../assert.ts";
import { endedAs, handled, type InboxCase, later, valid } from "./fixture.ts";

/** The promises of `consume` about recording outcomes. */
export const recording: readonly InboxCase[] = [
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
        endedAs("dead", "attempts_used_up", { error: "Error: 'no'", ...found }),
        endedAs("held", "no_handler"),
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
    name: "consume() keeps and shows that no handler ran",
    async run({ inbox, put, work }) {
      const id = await put();
      await work("verify", valid);
      await work("handle", { to: "handled", error: "no handler ran" });
      const entry = await inbox.get(id);
      same([entry?.state, entry?.reason], ["handled", null], "The entry");
      same(entry?.lastError, "no handler ran", "The last error");
      same(
        entry?.history.filter(isAttempt).at(-1)?.error,
        "no handler ran",
        "The error of the attempt",
      );
      const listed = await inbox.list({ state: "handled" });
      sameEach(listed, "lastError", ["no handler ran"], "The last errors of the list");
    },
  },
  {
    name: "consume() gives onRecorded() the error of an outcome, and stores nothing of it",
    async run({ inbox, put, work, consume, until }) {
      const id = await put();
      await work("verify", valid);
      const read: unknown[] = [];
      // Cannot be cloned for another thread, and notes who serializes it.
      const err = new Proxy(new Error("no"), {
        get: (_error, name) => void read.push(name),
        ownKeys: () => {
          read.push("keys");
          return [];
        },
      });
      const steps = [later(0, { err }), endedAs("dead", "do_not_retry", { error: "no", err })];
      const { recorded, consumer } = consume("handle", () => steps.shift() ?? handled);
      await until(() => recorded.length === 2, "both are recorded");
      await consumer.stop();
      for (const { outcome } of recorded) {
        truly(outcome.err === err, "onRecorded() gets the error itself");
      }
      same(read, [], "What was read of the error");
      same((await inbox.get(id))?.lastError, "no", "The last error");
    },
  },
  {
    name: "consume() records a rejection, and keeps its body",
    async run({ inbox, put, work }) {
      const id = await put({ body: "{}" });
      await work("verify", endedAs("rejected", "invalid_signature"));
      const entry = await inbox.get(id);
      same(
        [entry?.state, entry?.reason?.code, entry?.body, entry?.attempts],
        ["rejected", "invalid_signature", "{}", 1],
        "The entry",
      );
      sameEach(await inbox.list({ state: "rejected" }), "id", [id], "The list");
    },
  },
  {
    name: "consume() hands a job back with its attempts, retryState and last error",
    async run({ inbox, put, work }) {
      const id = await put();
      const jobs = await work(
        "verify",
        later(0, { retryState: "m1", error: "first" }),
        later(0, { countsAsAttempt: false, error: "second" }),
        later(0, { retryState: "m2" }),
        valid,
      );
      const seen = jobs.map((job) => [job.id, job.attempts, job.retryState, job.lastError]);
      const expected = [
        [id, 0, null, null],
        [id, 1, "m1", "first"],
        [id, 1, "m1", "second"],
        [id, 2, "m2", "not yet"],
      ];
      same(seen, expected, "The jobs");
      const [job] = await work("handle", later(0));
      same([job?.retryState, job?.attempts], [null, 0], "Memo and attempts in the next stage");
      same((await inbox.get(id))?.state, "verified", "The state");
    },
  },
  {
    name: "consume() keeps the recognised type and report of an attempt that is retried",
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
      truly(String((await inbox.get(id))?.lastError).includes("broken"), "the error is kept");
      if (inbox.guarantees.clock === "given") {
        await until(() => clock.pending > 0 || jobs.length > 1, "it waits");
        same(jobs.length, 1, "How often it was handed out within the second");
        same(errors.length, 1, "How many errors were told by then");
        clock.advance(1_000);
        await until(async () => (await attempts()) === 2, "it is recorded again");
        clock.advance(1_000);
      }
      await until(async () => (await inbox.get(id))?.state === "verified", "it is verified");
      sameEach(jobs, "attempts", [0, 1, 2], "The attempts of the jobs");
      same(errors.length, 2, "How many errors were told");
    },
  },
  {
    name: "consume() keeps the last 20 attempts of each stage",
    async run({ inbox, clock, put, work }) {
      const id = await put();
      const begin = clock.now();
      const many = Array.from({ length: 24 }, (_, index) => later(0, { error: `no ${index}` }));
      await work("verify", ...many, valid);
      await work("handle", ...many, endedAs("dead", "do_not_retry", { error: "last" }));
      const history = ((await inbox.get(id))?.history ?? []).filter(isAttempt);
      const ofStage = (stage: string) => history.filter((attempt) => attempt.stage === stage);
      const errors = Array.from({ length: 19 }, (_, index) => `no ${index + 5}`);
      const again = errors.map(() => "retry");
      sameEach(ofStage("verify"), "error", [...errors, null], "Errors of verify");
      sameEach(ofStage("handle"), "error", [...errors, "last"], "Errors of handle");
      sameEach(ofStage("verify"), "outcome", [...again, "verified"], "Of verify");
      sameEach(ofStage("handle"), "outcome", [...again, "dead"], "Of handle");
      truly(
        history.every(({ at, ms }) => at.getTime() >= begin && ms >= 0),
        "each attempt has its time and duration",
      );
    },
  },
];
