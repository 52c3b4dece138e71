import { dayMs } from "@reporthook/core/store";
import { testWith } from "@reporthook/test-support/needs";
import { endsWithTest, noRedis, startRedis } from "@reporthook/test-support/servers";
import { storedRequest } from "@reporthook/testing/internals";
import { expect, onTestFinished } from "vitest";
import { bullmqInbox } from "../index.ts";

const told = { dates: { ...storedRequest("0").dates, overdueAt: 1 } };

testWith(noRedis)(
  "prune() deletes settled requests after twice the retention of deliveries, others not before 30 days after they were due and told",
  async () => {
    const server = await endsWithTest(startRedis());
    const retention = { handledMs: dayMs, parkedMs: 2 * dayMs };
    const inbox = bullmqInbox({ connection: server.url, logger: false, retention });
    onTestFinished(() => inbox.close());
    const { requests } = inbox;
    if (requests === undefined) throw new Error("It keeps none");
    const now = Date.now();
    const settled = { state: "complete", settledAt: now } as const;
    const open = storedRequest("3", { state: "open" });
    for (const one of [
      storedRequest("0", { ...settled, settledAt: now + 1 }),
      storedRequest("1", { ...settled, idempotencyKey: "k" }),
      storedRequest("2", { ...settled, receiver: "b", state: "internal_error" }),
      open,
      storedRequest("4", { state: "open", dueAt: now, ...told }),
      storedRequest("5", { dueAt: now, state: "unconfirmed" }),
    ]) {
      expect(await requests.add(one)).toBeNull();
    }
    await requests.replace(open, { ...open, ...settled, version: 1 });
    const left = async (ms: number, dryRun = false) => {
      await inbox.prune(new Date(now + ms), { dryRun });
      return (await requests.list({ limit: 10 })).map(({ id }) => id).join("");
    };
    expect(await left(4 * dayMs - 1)).toBe("012345");
    expect(await left(4 * dayMs, true)).toBe("012345");
    expect(await left(4 * dayMs)).toBe("045");
    const counts = { unconfirmed: 1, open: 1, complete: 1, internal_error: 0, overdue: 1 };
    expect(await requests.counts()).toEqual(counts);
    const again = storedRequest("6", { idempotencyKey: "k", dueAt: now, ...told });
    expect(await requests.add(again)).toBeNull();
    expect(await left(30 * dayMs - 1)).toBe("456");
    expect(await left(30 * dayMs)).toBe("5");
    expect(await left(300 * dayMs)).toBe("5");
  },
);

testWith(noRedis)(
  "prune() leaves a request that is overdue as long as a delivery of it may be parked",
  async () => {
    const server = await endsWithTest(startRedis());
    const retention = { parkedMs: 90 * dayMs };
    const inbox = bullmqInbox({ connection: server.url, logger: false, retention });
    onTestFinished(() => inbox.close());
    const { requests } = inbox;
    const now = Date.now();
    await requests?.add(storedRequest("1", { state: "open", dueAt: now, ...told }));
    await inbox.prune(new Date(now + 180 * dayMs - 1));
    expect(await requests?.get("1")).not.toBeNull();
    await inbox.prune(new Date(now + 180 * dayMs));
    expect(await requests?.get("1")).toBeNull();
  },
);

testWith(noRedis)("prune() deletes settled requests, however many there are", async () => {
  const server = await endsWithTest(startRedis());
  const inbox = bullmqInbox({ connection: server.url, logger: false });
  onTestFinished(() => inbox.close());
  const { requests } = inbox;
  const ids = Array.from({ length: 1_001 }, (_, at) => String(at).padStart(4, "0"));
  const settled = { state: "complete", settledAt: 1 } as const;
  await Promise.all(ids.map((id) => requests?.add(storedRequest(id, settled))));
  expect((await requests?.counts())?.complete).toBe(1_001);
  await inbox.prune(new Date());
  expect(await requests?.list({ limit: 10 })).toEqual([]);
  expect((await requests?.counts())?.complete).toBe(0);
});
