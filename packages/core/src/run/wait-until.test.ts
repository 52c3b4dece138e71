import { turns } from "@reporthook/test-support/receiver-setup";
import { expect, it, onTestFinished, vi } from "vitest";

it("WaitUntil.wait() ends after 25 seconds when the first attempt takes longer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  // The timers of the runtime are those that a module finds as it is loaded.
  vi.resetModules();
  const { WaitUntil } = await import("./wait-until.ts");
  const waitUntil = new WaitUntil();
  let done = false;
  void waitUntil.wait("a").then(() => {
    done = true;
  });
  vi.advanceTimersByTime(24_999);
  await turns();
  expect(done).toBe(false);
  vi.advanceTimersByTime(1);
  await turns();
  expect(done).toBe(true);
});
