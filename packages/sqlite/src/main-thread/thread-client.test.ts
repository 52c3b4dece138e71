import type { Stage } from "@reporthook/core";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { manualClock, valid } from "@reporthook/testing/internals";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { storeOptionsOf } from "./options.ts";
import { ThreadClient } from "./thread-client.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** Two consumers for each of two receivers, whose states were taken; `limits` are their concurrencies. */
function make(): { client: ThreadClient; limits: Record<Stage, number>; looks: string[] } {
  const limits = { verify: 8, handle: 1 };
  const looks: string[] = [];
  const client = new ThreadClient(storeOptionsOf(temporaryPath(), {}));
  onTestFinished(() => client.close());
  for (const receiver of ["a", "b"]) {
    for (const stage of ["verify", "handle"] as const) {
      client.consume(stage, async () => valid, {
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
  expect(told(client)).toEqual(["a verify", "a handle", "b verify", "b handle"]);
  looks.length = 0;
  return { client, limits, looks };
}

function told(client: ThreadClient): string[] {
  return client.takeStates().map(({ receiver, stage }) => `${receiver} ${stage}`);
}

it("takeStates() looks at the consumers of the receivers that changed alone", () => {
  const { client, looks } = make();
  expect(told(client)).toEqual([]);
  expect(looks).toEqual([]);
  client.noteChange("b");
  expect(told(client)).toEqual([]);
  expect(new Set(looks)).toEqual(new Set(["b"]));
});

it("takeStates() tells the credit of one stage when work of the other has ended", () => {
  const { client, limits } = make();
  limits.handle = 8;
  client.noteChange("a");
  expect(told(client)).toEqual(["a handle"]);
});

it("takeStates() tells the states of all consumers again after a second, and to a new thread", () => {
  const { client } = make();
  vi.advanceTimersByTime(999);
  expect(told(client)).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told(client)).toHaveLength(4);
  expect(told(client)).toEqual([]);
  client.ended(null);
  expect(told(client)).toHaveLength(4);
});
