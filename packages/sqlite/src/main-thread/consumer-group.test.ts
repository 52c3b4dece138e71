import type { Stage } from "@reporthook/core";
import { ShownChanges } from "@reporthook/core/store";
import { manualClock, valid } from "@reporthook/testing/internals";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ConsumerGroup } from "./consumer-group.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Two consumers for each of two receivers, whose states the thread was told; `limits` are their concurrencies. */
function make(): { group: ConsumerGroup; limits: Record<Stage, number>; looks: string[] } {
  const limits = { verify: 8, handle: 1 };
  const looks: string[] = [];
  const group: ConsumerGroup = new ConsumerGroup({
    shown: new ShownChanges(),
    tell: (receiver) => group.noteChange(receiver),
  });
  for (const receiver of ["a", "b"]) {
    for (const stage of ["verify", "handle"] as const) {
      group.start(stage, async () => valid, {
        receiver,
        clock: manualClock(),
        onError: () => {},
        get concurrency() {
          looks.push(receiver);
          return limits[stage];
        },
      });
    }
  }
  expect(told(group)).toEqual(["a verify", "a handle", "b verify", "b handle"]);
  looks.length = 0;
  return { group, limits, looks };
}

function told(group: ConsumerGroup): string[] {
  return group.takeStates().map(({ receiver, stage }) => `${receiver} ${stage}`);
}

it("takeStates() looks at the consumers of the receivers that changed alone", () => {
  const { group, looks } = make();
  expect(told(group)).toEqual([]);
  expect(looks).toEqual([]);
  group.noteChange("b");
  expect(told(group)).toEqual([]);
  expect(new Set(looks)).toEqual(new Set(["b"]));
});

it("takeStates() tells the credit of one stage when work of the other has ended", () => {
  const { group, limits } = make();
  limits.handle = 8;
  group.noteChange("a");
  expect(told(group)).toEqual(["a handle"]);
});

it("takeStates() tells the states of all consumers again after a second, and to a new thread", () => {
  const { group } = make();
  vi.advanceTimersByTime(999);
  expect(told(group)).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told(group)).toHaveLength(4);
  expect(told(group)).toEqual([]);
  group.endThread(new Error("The thread has ended"));
  expect(told(group)).toHaveLength(4);
});
