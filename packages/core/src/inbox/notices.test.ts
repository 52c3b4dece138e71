import { expect, it, vi } from "vitest";
import { systemClock } from "../lib/time/clock.ts";
import { LivedClock } from "../lib/time/lived-clock.ts";
import { slowMs, standstillMs } from "../lib/time/standstill.ts";
import type { InboxNotice } from "./inbox.ts";
import { memoryInbox } from "./memory/memory-inbox.ts";
import { Notices } from "./notices.ts";

function optionsOf(told: InboxNotice[]) {
  return {
    receiver: "a",
    concurrency: 1,
    clock: new LivedClock(systemClock),
    onError() {},
    onNotice: (notice: InboxNotice) => void told.push(notice),
  };
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it("a memoryInbox() tells that the event loop stood still", async () => {
  const told: InboxNotice[] = [];
  const inbox = memoryInbox();
  inbox.consume("verify", () => Promise.reject(new Error("nothing waits")), optionsOf(told));
  block(standstillMs + 100);
  await vi.waitFor(() => expect(told).not.toEqual([]), { timeout: 60_000 });
  expect(told).toEqual([{ what: "stood_still", ms: expect.any(Number), isHandedOn: false }]);
  expect(told[0]).toSatisfy(({ ms }) => ms >= standstillMs);
  await inbox.close();
});

it("Notices.lost() is told with the standstill also when a slow server says it seconds later", async () => {
  const told: InboxNotice[] = [];
  const notices = new Notices({ isOnServer: true });
  const options = optionsOf(told);
  notices.add(options);
  block(standstillMs + 100);
  await new Promise((resolve) => setTimeout(resolve, slowMs - 1_000));
  notices.lost();
  await vi.waitFor(() => expect(told).not.toEqual([]), { timeout: 60_000 });
  expect(told).toEqual([{ what: "stood_still", ms: expect.any(Number), isHandedOn: true }]);
  notices.remove(options);
});

it("Notices.add() takes the time before it for no standstill", async () => {
  const told: InboxNotice[] = [];
  const notices = new Notices();
  block(standstillMs + 100);
  const options = optionsOf(told);
  notices.add(options);
  expect(notices.stoodStill).toBe(false);
  notices.remove(options);
});

it("a test runner's time is no standstill", async () => {
  vi.useFakeTimers();
  const told: InboxNotice[] = [];
  const notices = new Notices();
  notices.add(optionsOf(told));
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(notices.stoodStill).toBe(false);
  vi.useRealTimers();
});
