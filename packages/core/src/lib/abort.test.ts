import { describe, expect, it } from "vitest";
import { onAbort, StopController } from "./abort.ts";

describe.each([
  ["StopController", () => new StopController()],
  ["AbortController", () => new AbortController()],
])("onAbort() of the signal of a %s", (_name, make) => {
  it("calls everybody once, with the first reason, and who comes later at once", () => {
    const controller = make();
    const calls: string[] = [];
    onAbort(controller.signal, () => calls.push("first"));
    onAbort(controller.signal, () => calls.push("taken back"))();
    onAbort(controller.signal, () => calls.push("second"));
    expect(controller.signal.aborted).toBe(false);
    controller.abort("why");
    controller.abort("again");
    onAbort(controller.signal, () => calls.push("late"));
    expect(calls).toEqual(["first", "second", "late"]);
    expect([controller.signal.aborted, controller.signal.reason]).toEqual([true, "why"]);
  });
});
