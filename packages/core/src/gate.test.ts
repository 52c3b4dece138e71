import { describe, expect, it } from "vitest";
import { createGate, type Pass } from "./gate.ts";
import { virtualClock } from "./testing/virtual-clock.ts";

const { signal } = new AbortController();
const passed = (pass: Pass | null): Pass => {
  if (pass === null) throw new Error("did not pass");
  return pass;
};

describe("createGate()", () => {
  it("lets everything through when it is open", async () => {
    const gate = createGate(virtualClock());
    expect(await gate.pass(signal, true)).not.toBeNull();
    expect(await gate.pass(signal, false)).not.toBeNull();
  });

  it("lets one probe through after a pause that doubles when the probe fails", async () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).refused(0);
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      clock.advance(pauseMs * 0.75 - 1);
      expect(await gate.pass(signal, false)).toBeNull();
      clock.advance(pauseMs * 0.25 + 1);
      const probe = passed(await gate.pass(signal, true));
      expect(await gate.pass(signal, false)).toBeNull();
      probe.refused(0);
    }
    clock.advance(30_000);
    const waiting = [gate.pass(signal, true), gate.pass(signal, true)];
    passed((await gate.pass(signal, false)) ?? (await waiting[0]) ?? null).open();
    for (const pass of await Promise.all(waiting)) expect(pass).not.toBeNull();
  });

  it("waits as long as the service asked, at most 5 minutes", async () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).refused(3_600_000);
    clock.advance(299_000);
    expect(await gate.pass(signal, false)).toBeNull();
    clock.advance(1_000);
    expect(await gate.pass(signal, false)).not.toBeNull();
  });

  it("lengthens no pause for calls that were under way when it closed", async () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    const both = [passed(await gate.pass(signal, true)), passed(await gate.pass(signal, true))];
    for (const pass of both) pass.refused(0);
    clock.advance(1_000);
    expect(await gate.pass(signal, false)).not.toBeNull();
    both[1]?.refused(0);
    both[1]?.giveBack();
    expect(await gate.pass(signal, false)).toBeNull();
  });

  it("hands the probe's place on when it is given back", async () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).refused(0);
    clock.advance(1_000);
    const probe = passed(await gate.pass(signal, true));
    const next = gate.pass(signal, true);
    probe.giveBack();
    expect(await next).not.toBeNull();
  });

  it("lets another probe through when one never says how it went", async () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).refused(0);
    clock.advance(1_000);
    passed(await gate.pass(signal, false));
    clock.advance(44_999);
    expect(await gate.pass(signal, false)).toBeNull();
    clock.advance(1);
    passed(await gate.pass(signal, false)).open();
    expect(await gate.pass(signal, false)).not.toBeNull();
  });

  it("lets go of those that wait when their signal aborts, and when it stops", async () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).refused(0);
    const controller = new AbortController();
    const waiting = [gate.pass(controller.signal, true), gate.pass(signal, true)];
    controller.abort();
    expect(await waiting[0]).toBeNull();
    gate.stop();
    expect(await waiting[1]).toBeNull();
    expect(await gate.pass(signal, true)).toBeNull();
  });

  it("opens in time when the clock is set back", async () => {
    const clock = virtualClock();
    let offset = 0;
    const gate = createGate({ ...clock, now: () => clock.now() + offset });
    passed(await gate.pass(signal, true)).refused(0);
    offset = -3_600_000;
    clock.advance(1_000);
    expect(await gate.pass(signal, false)).not.toBeNull();
  });
});

describe("a gate that meets silence", () => {
  const closedBySilence = async () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    const passes = Array.from({ length: 8 }, () => passed(gate.pass(signal, false) as Pass));
    for (const pass of passes) pass.silent(0);
    return { gate, clock, stale: passes[0] as Pass };
  };

  it("closes after five silent calls in a row, and not when there was an answer between", async () => {
    const gate = createGate(virtualClock());
    const pass = passed(await gate.pass(signal, true));
    for (const call of [
      "silent",
      "open",
      "silent",
      "failed",
      "silent",
      "silent",
      "silent",
    ] as const) {
      pass[call](0);
    }
    expect([gate.silentMs, pass.stale]).toEqual([null, false]);
    pass.silent(0);
    expect(gate.silentMs).toEqual(expect.any(Number));
    expect(pass.stale).toBe(true);
    expect(gate.pass(signal, true)).toBeNull();
  });

  it("does not close for errors that may concern one signature alone", async () => {
    const gate = createGate(virtualClock());
    for (let call = 0; call < 20; call++) passed(await gate.pass(signal, true)).failed(0);
    expect(await gate.pass(signal, false)).not.toBeNull();
  });

  it("probes at most every ten seconds, one call at a time, and has others wait for the probe", async () => {
    const { gate, clock } = await closedBySilence();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      expect(gate.silentMs).toBeLessThanOrEqual(pauseMs);
      expect(gate.silentMs).toBeGreaterThanOrEqual(pauseMs * 0.75);
      clock.advance(pauseMs * 0.75 - 1);
      expect(gate.pass(signal, true)).toBeNull();
      clock.advance(pauseMs * 0.25 + 1);
      const probe = passed(gate.pass(signal, false) as Pass);
      const next = gate.pass(signal, true);
      expect(gate.pass(signal, false)).toBeNull();
      probe.failed(0);
      expect(await next).toBeNull();
    }
    clock.advance(10_000);
    const probe = passed(gate.pass(signal, false) as Pass);
    const next = gate.pass(signal, true);
    probe.open();
    expect(await next).not.toBeNull();
    expect(gate.silentMs).toBeNull();
  });

  it("waits as long as the service asked, at most a minute", async () => {
    const { gate, clock } = await closedBySilence();
    clock.advance(1_000);
    passed(gate.pass(signal, true) as Pass).silent(3_600_000);
    expect(gate.silentMs).toBe(60_000);
    clock.advance(60_000);
    expect(gate.pass(signal, true)).not.toBeNull();
  });

  it("opens at any answer, and goes over to a refused key", async () => {
    const late = await closedBySilence();
    late.stale.open();
    expect(late.gate.pass(signal, false)).not.toBeNull();
    const { gate, clock } = await closedBySilence();
    clock.advance(1_000);
    passed(gate.pass(signal, true) as Pass).refused(0);
    expect(gate.silentMs).toBeNull();
    expect(gate.pass(signal, true)).toBeInstanceOf(Promise);
    gate.stop();
  });

  it("hands the probe's place on after another pause when it is given back", async () => {
    const { gate, clock } = await closedBySilence();
    clock.advance(1_000);
    passed(gate.pass(signal, true) as Pass).giveBack();
    expect(gate.pass(signal, true)).toBeNull();
    clock.advance(2_000);
    expect(gate.pass(signal, true)).not.toBeNull();
  });
});
