import type { Job } from "@reporthook/core";
import { Notices, newStoredDelivery, ShownChanges } from "@reporthook/core/store";
import { testDelivery } from "@reporthook/test-support/jobs";
import { handled, manualClock, valid } from "@reporthook/testing/internals";
import { expect, it, vi } from "vitest";
import type { Completion } from "../protocol/protocol.ts";
import { SqliteConsumer } from "./consumer.ts";
import type { Leased } from "./thread-connection.ts";

function leased(seq: number, connection: Leased["connection"]): Leased {
  const delivery = testDelivery({ id: `id-${seq}`, receiver: "a" });
  const stored = newStoredDelivery(delivery, { to: "received" }, null);
  const claimed = { consumer: 1, seq, stored: null, isFirstStart: true, cost: 1 };
  return { claimed, connection, workerId: 1, stored };
}

it("a verdict that can't be recorded, because the lease is lost, is sent once while its handler runs", async () => {
  const sent: { readonly completion: Completion; answer(isRecorded: boolean): void }[] = [];
  const reported: [id: string, to: string][] = [];
  const ends = new Map<string, () => void>();
  const given = { shown: new ShownChanges(), notices: new Notices() };
  const source = { ...given, noteChange: () => {}, tell: () => {} };
  const leases: Leased["connection"] = {
    isOver: false,
    holdsLeases: () => true,
    complete: (completion, { resolve: answer }) => void sent.push({ completion, answer }),
  };
  const consumer = new SqliteConsumer(1, "verify", source, async () => valid, {
    receiver: "a",
    concurrency: 1,
    clock: manualClock(),
    onError: () => {},
    onRecorded: ({ id }, { to }) => void reported.push([id, to]),
    handleAtOnce: ({ id }: Job) => new Promise((end) => ends.set(id, () => end(handled))),
  });
  consumer.lease(leased(1, leases));
  await vi.waitUntil(() => sent.length === 1, 60_000);
  sent[0]?.answer(false);
  // The verdicts of later ones are sent after at least two more looks at the first.
  for (const seq of [2, 3]) {
    consumer.lease(leased(seq, leases));
    await vi.waitUntil(() => sent.some(({ completion }) => completion.seq === seq), 60_000);
    sent.at(-1)?.answer(true);
  }
  for (const end of ends.values()) end();
  await vi.waitUntil(() => sent.length === 6, 60_000);
  expect(sent.map(({ completion: { seq, keepsLease } }) => [seq, keepsLease])).toEqual([
    [1, true],
    [2, true],
    [3, true],
    [1, false],
    [2, false],
    [3, false],
  ]);
  for (const { completion, answer } of sent.slice(3)) answer(completion.seq !== 1);
  await consumer.stop();
  expect(reported).toEqual([
    ["id-2", "verified"],
    ["id-3", "verified"],
    ["id-2", "handled"],
    ["id-3", "handled"],
  ]);
});

it("poisoned() throws nothing when the hook does: the rest of a reply is for others", async () => {
  const unhandled = vi.fn();
  process.once("unhandledRejection", unhandled);
  const given = { shown: new ShownChanges(), notices: new Notices() };
  const source = { ...given, noteChange: () => {}, tell: () => {} };
  const onRecorded = vi.fn(() => {
    throw new Error("an observer fails");
  });
  const consumer = new SqliteConsumer(1, "verify", source, async () => valid, {
    receiver: "a",
    concurrency: 1,
    clock: manualClock(),
    onError: () => {},
    onRecorded,
  });
  consumer.poisoned(newStoredDelivery(testDelivery({ receiver: "a" }), { to: "received" }, null));
  await consumer.stop();
  await vi.waitUntil(() => unhandled.mock.calls.length > 0);
  expect(onRecorded).toHaveBeenCalledOnce();
});
