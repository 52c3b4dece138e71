import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { type Abortable, onAbort, StopController } from "./abort.ts";

describe.each([
  ["StopController", () => new StopController()],
  ["AbortController", () => new AbortController()],
])("the signal of a %s", (_name, make) => {
  it("onAbort() tells every listener once, with the first reason, and a later one at once", () => {
    const controller = make();
    const told: string[] = [];
    const named = (name: string): Abortable => ({ place: -1, abort: () => told.push(name) });
    const takenBack = named("taken back");
    onAbort(controller.signal, named("first"));
    const all = onAbort(controller.signal, takenBack);
    onAbort(controller.signal, named("second"));
    all.delete(takenBack);
    expect(controller.signal.aborted).toBe(false);
    controller.abort("why");
    controller.abort("again");
    onAbort(controller.signal, named("late"));
    expect(told.sort()).toEqual(["first", "late", "second"]);
    expect([controller.signal.aborted, controller.signal.reason]).toEqual([true, "why"]);
  });

  it("onAbort() tells nobody whom another has taken back meanwhile", () => {
    const controller = make();
    const told: string[] = [];
    const pair = ["one", "other"].map(
      (name): Abortable => ({ place: -1, abort: () => tell(name) }),
    );
    const tell = (name: string): void => {
      told.push(name);
      for (const one of pair) all.delete(one);
    };
    const [all] = pair.map((one) => onAbort(controller.signal, one)) as [
      ReturnType<typeof onAbort>,
    ];
    controller.abort("why");
    expect(told).toHaveLength(1);
  });
});

it("onAbort() leaves no listener on a signal that has aborted: Node would keep one of AbortSignal.any()", () => {
  const controller = new AbortController();
  const signal = AbortSignal.any([controller.signal]);
  for (let count = 0; count < 2; count++) onAbort(signal, { place: -1, abort: () => {} });
  controller.abort();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});
