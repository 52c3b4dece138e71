import { manualClock } from "@reporthook/testing/internals";
import { expect, it, vi } from "vitest";
import type { HandleStage } from "../handle/handle-stage.ts";
import type { Presence } from "../health/presence.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { PruneCount, type Pruned } from "../inbox/retention.ts";
import { oncePerMinute } from "../lib/log.ts";
import { messages } from "../log-messages.ts";
import type { Reporter } from "../observe/reporter.ts";
import { receiverSettingsOf } from "../options/receiver-settings.ts";
import type { OverdueSweep } from "../reports/overdue-sweep.ts";
import type { VerifyStage } from "../verify/verify-stage.ts";
import { Work } from "./work.ts";

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
  const time = { clock: {}, isYoung: false, retentionNow: 5 };
  const redact = (text: string): string => text.replaceAll("canary", "[api key]");
  const reporter = { tell: vi.fn() };
  const client = { authorize: async () => "valid" as const };
  const settings = receiverSettingsOf({ client, ack, clock, inbox });
  const work = new Work(
    Object.assign(settings, { logger, oncePerMinute: oncePerMinute(clock, logger), redact, time }),
    { stop() {} } as VerifyStage,
    { stop() {} } as HandleStage,
    reporter as unknown as Reporter,
    { stop() {} } as OverdueSweep,
    {} as Presence,
  );
  return { work, clock, time, pruned, reporter, logger };
}

it("prune() goes by lived time, at most once a minute, or as often as it is told", async () => {
  const { work, clock, time, pruned } = make();
  await work.prune();
  clock.advance(59_999);
  await work.prune();
  expect(pruned).toEqual([5]);
  time.retentionNow = 6;
  clock.advance(1);
  await work.prune();
  expect(pruned).toEqual([5, 6]);
  clock.advance(1_000);
  await work.prune(1_000);
  expect(pruned).toHaveLength(3);
});

it("prune() passes the beginning of time while nobody knows the time: no retention is over", async () => {
  const { work, time, pruned } = make();
  time.isYoung = true;
  await work.prune();
  expect(pruned).toEqual([0]);
});

it("prune() does nothing where nothing is stored, nor once it is stopped", async () => {
  const handled = make("handled");
  await handled.work.prune();
  expect(handled.pruned).toEqual([]);
  const { work, pruned } = make();
  void work.stop();
  await work.prune();
  expect(pruned).toEqual([]);
});

it("prune() logs a failure without the key, once a minute, and none once it is stopped", async () => {
  const { work, clock, logger } = make("stored", async () => {
    throw new Error("disk of canary is full");
  });
  for (let second = 0; second < 61; second++) {
    await work.prune(1_000);
    clock.advance(1_000);
  }
  const error = "Error: disk of [api key] is full";
  expect(logger.error.mock.calls).toEqual([
    [{ error, count: 1 }, messages.notPruned],
    [{ error, count: 60 }, messages.notPruned],
  ]);
  const late = make("stored", async () => {
    void late.work.stop();
    throw new Error("closed");
  });
  await late.work.prune();
  expect(late.logger.error).not.toHaveBeenCalled();
});

it("prune() reports the acts of retention", async () => {
  const result = new PruneCount(retention);
  const { work, reporter, time } = make("stored", async () => result);
  await work.prune();
  expect(reporter.tell.mock.calls).toEqual([["pruned", result, time.retentionNow]]);
});
