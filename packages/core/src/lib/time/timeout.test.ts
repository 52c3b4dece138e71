import { readFile } from "node:fs/promises";
import { createEmulator } from "@reporthook/emulator";
import { never } from "@reporthook/test-support/gate";
import { describe, expect, it } from "vitest";
import { systemClock } from "./clock.ts";
import { withSignal, withTimeout } from "./timeout.ts";

/** Has the event loop stand still. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("limits", () => {
  it("withTimeout() leaves out the time in which the event loop stood still", async () => {
    const running = withTimeout({ clock: systemClock, ms: 50, late: "too late" }, () =>
      readFile(import.meta.filename, "utf8"),
    );
    block(1_200);
    expect(await running).toContain("stood still");
  });

  it("withTimeout() rejects and aborts when the time is over, for any work", async () => {
    const { clock } = createEmulator();
    let given: AbortSignal | undefined;
    const running = withTimeout({ clock, ms: 50, late: "too late" }, (scope) => {
      given = scope.signal;
      return never();
    });
    clock.advance(50);
    await expect(running).rejects.toThrow("too late");
    expect(given?.aborted).toBe(true);
  });

  it("withTimeout() rejects with the parent's reason, and does not begin when it is aborted", async () => {
    const { clock } = createEmulator();
    const closing = new AbortController();
    const bounds = { clock, ms: 50, late: "too late", parent: closing.signal };
    const running = withTimeout(bounds, never);
    closing.abort(new Error("closing"));
    await expect(running).rejects.toThrow("closing");
    let begun = false;
    const next = withTimeout(bounds, () => {
      begun = true;
    });
    await expect(next).rejects.toThrow("closing");
    expect(begun).toBe(false);
  });

  it("withTimeout() adds one listener to the parent, also when many run", async () => {
    const { clock } = createEmulator();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on("warning", onWarning);
    const closing = new AbortController();
    const running = Array.from({ length: 50 }, () =>
      withTimeout({ clock, ms: 50, late: "too late", parent: closing.signal }, never),
    );
    closing.abort(new Error("closing"));
    const results = await Promise.allSettled(running);
    expect(results.every(({ status }) => status === "rejected")).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });
});

describe("signals", () => {
  const controller = new AbortController();
  const make = () => withSignal({ signal: controller.signal }, { attempt: 1 });

  it.each([
    ["itself", make],
    ["a copy", () => ({ ...make() })],
    ["an object that inherits", () => Object.create(make())],
    ["a proxy", () => new Proxy(make(), {})],
    ["a copy of a proxy", () => ({ ...new Proxy(make(), {}) })],
    [
      "its descriptors",
      () => Object.defineProperties({}, Object.getOwnPropertyDescriptors(make())),
    ],
    ["a replaced one", () => Object.defineProperty(make(), "signal", { value: controller.signal })],
  ])("withSignal() gives the signal to %s", (_what, wrap) => {
    expect(wrap().signal).toBe(controller.signal);
  });

  it("withSignal() makes the signal at its first use, and leaves a plain object", () => {
    let made = 0;
    const scope = {
      get signal() {
        made++;
        return controller.signal;
      },
    };
    const argument = withSignal(scope, { attempt: 1 });
    expect(made).toBe(0);
    expect(argument).toStrictEqual({ attempt: 1, signal: controller.signal });
    expect(Object.keys(argument)).toEqual(["attempt", "signal"]);
  });
});
