import { hasSettled } from "@reporthook/test-support/receiver-setup";
import { expect, it, onTestFinished, vi } from "vitest";

it("WaitUntil.keepAlive() waits no longer than 25 seconds when the first attempt takes longer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  // The timers of the runtime are those that a module finds as it is loaded.
  vi.resetModules();
  const { WaitUntil } = await import("./wait-until.ts");
  const waitUntil = new WaitUntil({ oncePerMinute: { warn() {}, error() {} } });
  let waiting: Promise<unknown> = Promise.resolve();
  const keepAlive = (promise: Promise<unknown>): void => {
    waiting = promise;
  };
  waitUntil.keepAlive({ waitUntil: keepAlive }, "a", Promise.resolve());
  vi.advanceTimersByTime(24_999);
  expect(await hasSettled(waiting)).toBe(false);
  vi.advanceTimersByTime(1);
  await waiting;
});
