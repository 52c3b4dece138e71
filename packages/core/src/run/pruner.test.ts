import { expect, it, vi } from "vitest";
import type { Pruned } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { PruneCount } from "../inbox/retention.ts";
import { messages } from "../log-messages.ts";
import { manualClock } from "../testing/manual-clock.ts";
import { Pruner } from "./pruner.ts";

const retention = { handledMs: 1, parkedMs: 6 };

function make(
  ack: "stored" | "handled" = "stored",
  prune = async (_now: Date): Promise<Pruned> => new PruneCount(retention),
) {
  const clock = manualClock();
  const pruned: number[] = [];
  const inbox = Object.assign(memoryInbox(), {
    prune(at: Date) {
      pruned.push(at.getTime());
      return prune(at);
    },
  });
  const logger = { warn: vi.fn(), error: vi.fn() };
  const time = { isYoung: false, retentionNow: 5 };
  const redact = (text: string): string => text.replaceAll("canary", "[api key]");
  const reporter = { pruned: vi.fn() };
  const pruner = new Pruner({ ack, redact, clock, time, inbox, logger }, reporter);
  return { pruner, clock, time, pruned, reporter, logger };
}

it("prune() goes by lived time, at most once a minute, or as often as it is told", async () => {
  const { pruner, clock, time, pruned } = make();
  await pruner.prune();
  clock.advance(59_999);
  await pruner.prune();
  expect(pruned).toEqual([5]);
  time.retentionNow = 6;
  clock.advance(1);
  await pruner.prune();
  expect(pruned).toEqual([5, 6]);
  clock.advance(1_000);
  await pruner.prune(1_000);
  expect(pruned).toHaveLength(3);
});

it("prune() passes the beginning of time while nobody knows the time: no retention is over", async () => {
  const { pruner, time, pruned } = make();
  time.isYoung = true;
  await pruner.prune();
  expect(pruned).toEqual([0]);
});

it("prune() does nothing where nothing is stored, nor once it is stopped", async () => {
  const handled = make("handled");
  await handled.pruner.prune();
  expect(handled.pruned).toEqual([]);
  const { pruner, pruned } = make();
  pruner.stop();
  await pruner.prune();
  expect(pruned).toEqual([]);
});

it("prune() logs a failure without the key, once a minute, and none once it is stopped", async () => {
  const { pruner, clock, logger } = make("stored", async () => {
    throw new Error("disk of canary is full");
  });
  for (let second = 0; second < 61; second++) {
    await pruner.prune(1_000);
    clock.advance(1_000);
  }
  const error = "Error: disk of [api key] is full";
  expect(logger.error.mock.calls).toEqual([
    [{ error, count: 1 }, messages.notPruned],
    [{ error, count: 60 }, messages.notPruned],
  ]);
  const late = make("stored", async () => {
    late.pruner.stop();
    throw new Error("closed");
  });
  await late.pruner.prune();
  expect(late.logger.error).not.toHaveBeenCalled();
});

it("prune() reports what retention did", async () => {
  const result = new PruneCount(retention);
  const { pruner, reporter, time } = make("stored", async () => result);
  await pruner.prune();
  expect(reporter.pruned.mock.calls).toEqual([[result, time.retentionNow]]);
});
