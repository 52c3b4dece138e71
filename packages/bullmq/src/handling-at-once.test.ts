import { openQueues } from "@reporthook/test-support/queues";
import { onEachServer } from "@reporthook/test-support/servers";
import { deferred, endedAs, handled, later, valid } from "@reporthook/testing/internals";
import { expect, it } from "vitest";
import type { BullmqInboxOptions } from "./index.ts";
import { dataOf } from "./queues/job-state.ts";

let prefixes = 0;

onEachServer((server) => {
  async function open(rest: Partial<Omit<BullmqInboxOptions, "prefix">> = {}) {
    const options = {
      connection: server().url,
      prefix: `once_${++prefixes}`,
      logger: false,
    } as const;
    const opened = await openQueues({ ...options, ...rest }, 310);
    const { inbox, queues, until } = opened;
    const wait = (id: string, state: string) =>
      until(async () => (await inbox.get(id))?.state === state, `it is ${state}`);
    return { ...opened, verify: queues.of("verify"), wait };
  }

  it("a delivery handled at once is completed where it was verified, and its job carries no signature", async () => {
    const { put, consume, wait, verify, inbox } = await open();
    const secret = "a-signature-of-the-service";
    const id = await put({ signature: secret });
    consume("verify", valid, { handleAtOnce: async () => handled });
    await wait(id, "handled");
    const job = await verify.getJob(id);
    expect(await job?.getState()).toBe("completed");
    expect(JSON.stringify(job)).not.toContain(secret);
    expect((await inbox.list({ state: "handled" })).map((entry) => entry.id)).toEqual([id]);
  });

  it("a delivery that is handled for long is listed and counted as verified meanwhile", async () => {
    const { put, consume, wait, inbox } = await open();
    const door = deferred();
    const id = await put();
    const handleAtOnce = async () => {
      await door.promise;
      return handled;
    };
    const { consumer } = consume("verify", valid, { handleAtOnce });
    await wait(id, "verified");
    expect(await inbox.counts("a")).toMatchObject({ received: 0, verified: 1 });
    expect((await inbox.list({ state: "verified" })).map((entry) => entry.id)).toEqual([id]);
    expect(await inbox.list({ state: "received" })).toEqual([]);
    // Its slot verifies others meanwhile.
    const other = await put();
    await wait(other, "verified");
    expect(consumer.running).toBe(2);
    door.resolve();
    await wait(id, "handled");
    await wait(other, "handled");
  });

  it("a delivery that is handled for long waits for no verdict in summary() and facts()", async () => {
    const { put, consume, wait, inbox } = await open();
    const id = await put();
    const { consumer } = consume("verify", valid, { handleAtOnce: () => new Promise(() => {}) });
    await wait(id, "verified");
    const { oldestUnverified, oldestWaiting } = await inbox.facts("a");
    expect([oldestUnverified, typeof oldestWaiting]).toEqual([null, "number"]);
    const since = { from: new Date(0), until: new Date(Date.now() + 60_000) };
    const { oldest, minutes } = await inbox.summary({ receiver: "a", ...since });
    expect([oldest.received, oldest.verified]).toEqual([null, expect.any(Date)]);
    expect(minutes.map(({ counts }) => [counts.received, counts.verified])).toEqual([[0, 1]]);
    await consumer.abort();
  });

  it("a delivery that was taken over while it was handled is not settled by the worker that lost it", async () => {
    const { put, consume, wait, verify, inbox, patiently } = await open();
    const door = deferred();
    const id = await put();
    const handleAtOnce = async () => {
      await door.promise;
      return endedAs("dead", "do_not_retry");
    };
    const slow = consume("verify", valid, { handleAtOnce });
    await wait(id, "verified");
    // The token that BullMQ takes without a look at the lock.
    await verify.backend.moveJobFromActiveToWait(id, "0");
    consume("verify", valid);
    const { jobs } = consume("handle", handled);
    await wait(id, "handled");
    door.resolve();
    await patiently(slow.consumer.stop(), "stop()");
    expect(jobs.length).toBe(1);
    expect((await inbox.get(id))?.state).toBe("handled");
    expect(slow.recorded.map(({ outcome }) => outcome.to)).toEqual(["verified"]);
  });

  it("a delivery that failed waits for its next try among those to be handled", async () => {
    const { act, put, consume, wait, inbox, verify, until } = await open();
    const id = await put();
    consume("verify", valid, { handleAtOnce: async () => later(60_000) });
    await until(async () => (await inbox.get(id))?.attempts === 1, "it has failed");
    await wait(id, "verified");
    await until(async () => (await verify.count()) === 0, "it has left");
    await act("retry", id);
    consume("handle", handled);
    await wait(id, "handled");
    expect((await inbox.get(id))?.attempts).toBe(2);
  });

  it("stop() puts back the job that came while the last result was recorded", async () => {
    const { inbox, clock, put, consume, until, verify } = await open();
    const ids = [await put(), await put()];
    const told: string[] = [];
    const consumer = inbox.consume("verify", async () => valid, {
      receiver: "a",
      concurrency: 1,
      clock,
      onError: () => {},
      handleAtOnce: async () => handled,
      onRecorded({ id }) {
        told.push(id);
        void consumer.stop();
      },
    });
    await until(() => told.length === 2, "verdict and result are told");
    await consumer.stop();
    expect(new Set(told).size).toBe(1);
    expect(await verify.getActiveCount()).toBe(0);
    const { jobs } = consume("verify", valid);
    await until(() => jobs.length === 1, "the other is verified");
    expect([told[0], jobs[0]?.id].sort()).toEqual(ids.sort());
  });

  it("a delivery that ends the process whenever it is handled is parked the sixth time, wherever it was begun", async () => {
    const { put, consume, wait, queues, until, inbox, connection } = await open();
    const verify = queues.of("verify");
    const id = await put();
    const found = await queues.find(id);
    if (found === null) throw new Error("It is there");
    Object.assign(found.jobState.stored, { state: "verified", stage: "handle" });
    await verify.backend.updateData(found.job, dataOf(found.jobState));
    const worker = connection.worker(verify.name);
    await worker.startStalledCheckTimer();
    let taken = 0;
    while (taken < 5) if ((await worker.getNextJob(`token ${taken}`)) !== undefined) taken++;
    await until(async () => (await verify.count()) > 0, "it is free");
    await worker.close(true);
    const consuming = [consume("verify", valid), consume("handle", handled)];
    await wait(id, "dead");
    expect((await inbox.get(id))?.reason?.code).toBe("poison");
    expect(consuming.flatMap(({ jobs }) => jobs)).toEqual([]);
  });

  it("a release has a delivery run again, and its copies are still told", async () => {
    const { act, put, make, add, consume, wait, inbox, until } = await open();
    const parts = { signature: "s", body: "{}" };
    const id = await put(parts);
    const handling = consume("handle", handled);
    consume("verify", valid, { handleAtOnce: async () => handled });
    await wait(id, "handled");
    await act("release", id);
    await until(() => handling.jobs.length === 1, "it runs again");
    await wait(id, "handled");
    expect(await inbox.counts("a")).toMatchObject({ received: 0, verified: 0, handled: 1 });
    expect(await add(await make(parts))).toEqual({ status: "duplicate", id });
  });

  it("the copies of a delivery are told for 24 hours, also when handled deliveries are kept shorter", async () => {
    const retention = { handledMs: 1, parkedMs: 1 };
    const { put, make, add, consume, wait, inbox } = await open({ retention });
    const parts = { signature: "s", body: "{}" };
    const id = await put(parts);
    const { consumer } = consume("verify", valid, { handleAtOnce: async () => handled });
    await wait(id, "handled");
    await consumer.stop();
    await inbox.prune(new Date());
    expect(await add(await make(parts))).toEqual({ status: "duplicate", id });
  });
});
