import type { Job } from "@reporthook/core";
import { newStoredDelivery, ShownChanges } from "@reporthook/core/store";
import { testDelivery } from "@reporthook/test-support/jobs";
import { handled, manualClock, valid } from "@reporthook/testing/internals";
import { expect, it, vi } from "vitest";
import { SqliteConsumer } from "./consumer.ts";
import type { Leased, LeaseSource, Recording } from "./recording.ts";

function leased(seq: number, source: LeaseSource): Leased {
  const delivery = testDelivery({ id: `id-${seq}`, receiver: "a" });
  const stored = newStoredDelivery(delivery, { to: "received" }, null);
  return { source, seq, workerId: 1, stored, isFirstStart: true };
}

it("a verdict that can't be recorded, because the lease is lost, is sent once while its handler runs", async () => {
  const sent: Recording[] = [];
  const reported: [id: string, to: string][] = [];
  const ends = new Map<string, () => void>();
  const source = { shown: new ShownChanges(), tell: () => {} };
  const leases = {
    holdsLeases: () => true,
    complete: (recording: Recording) => void sent.push(recording),
  };
  const consumer = new SqliteConsumer(1, "verify", source, async () => valid, {
    receiver: "a",
    concurrency: 1,
    clock: manualClock(),
    onError: () => {},
    onRecorded: ({ id }, { to }) => void reported.push([id, to]),
    handleAtOnce: ({ id }: Job) => new Promise((end) => ends.set(id, () => end(handled))),
  });
  consumer.lease(leased(1, leases), 1);
  await vi.waitUntil(() => sent.length === 1, 60_000);
  sent[0]?.resolve(false);
  // The verdicts of later ones are sent after at least two more looks at the first.
  for (const seq of [2, 3]) {
    consumer.lease(leased(seq, leases), 1);
    await vi.waitUntil(() => sent.some(({ completion }) => completion.seq === seq), 60_000);
    sent.at(-1)?.resolve(true);
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
  for (const recording of sent.slice(3)) recording.resolve(recording.completion.seq !== 1);
  expect(reported).toEqual([
    ["id-2", "verified"],
    ["id-3", "verified"],
    ["id-2", "handled"],
    ["id-3", "handled"],
  ]);
  await consumer.stop();
});
