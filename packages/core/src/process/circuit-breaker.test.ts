import { describe, expect, it } from "vitest";
import { virtualClock } from "../testing/virtual-clock.ts";
import { createGate, type Gate, type Pass } from "./circuit-breaker.ts";

const passed = (gate: Gate): Pass => {
  const pass = gate.pass();
  if (pass === null) throw new Error("did not pass");
  return pass;
};

/** Several calls at once, each of another signature. */
function refuse(gate: Gate, ...signatures: string[]): void {
  const passes = signatures.map(() => passed(gate));
  for (const [index, pass] of passes.entries()) pass.refused(signatures[index] ?? "", 0);
}

function closedByRefusals() {
  const clock = virtualClock();
  const gate = createGate(clock);
  refuse(gate, "a");
  return { clock, gate };
}

function closedBySilence() {
  const clock = virtualClock();
  const gate = createGate(clock);
  const passes = Array.from({ length: 8 }, () => passed(gate));
  for (const pass of passes) pass.silent(0);
  return { gate, clock, stale: passes[0] as Pass };
}

describe("a gate that meets refusals", () => {
  it("closes for the first one where none was judged yet, else for two different signatures in a row", () => {
    expect(closedByRefusals().gate.closed).toBe("refused");
    const gate = createGate(virtualClock());
    passed(gate).judged();
    for (let again = 0; again < 20; again++) refuse(gate, "a");
    expect([gate.closed, gate.closedMs]).toEqual([null, 0]);
    refuse(gate, "b");
    expect(gate.closed).toBe("refused");
    expect(gate.pass()).toBeNull();
  });

  it("begins again to count when one was judged between", () => {
    const gate = createGate(virtualClock());
    passed(gate).judged();
    const other = passed(gate);
    refuse(gate, "a");
    other.judged();
    refuse(gate, "b");
    expect(gate.closed).toBeNull();
    refuse(gate, "c");
    expect(gate.closed).toBe("refused");
  });

  it("stays open for 5 minutes after a verdict in the midst of refusals", () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(gate).judged();
    refuse(gate, "a");
    passed(gate).judged();
    for (let sent = 0; sent < 1_000; sent++) refuse(gate, `${sent}`);
    clock.advance(299_999);
    refuse(gate, "x");
    expect(gate.closed).toBeNull();
    clock.advance(1);
    refuse(gate, "y");
    expect(gate.closed).toBe("refused");
  });

  it("lets one probe through after a pause that doubles, and nobody waits in it", () => {
    const { clock, gate } = closedByRefusals();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      clock.advance(pauseMs * 0.75 - 1);
      expect(gate.pass()).toBeNull();
      clock.advance(pauseMs * 0.25 + 1);
      const probe = passed(gate);
      expect(gate.pass()).toBeNull();
      probe.refused("d", 0);
    }
    clock.advance(30_000);
    passed(gate).judged();
    expect(gate.pass()).not.toBeNull();
  });

  it("probes each second at first where a key has worked", () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(gate).judged();
    refuse(gate, "a", "b");
    for (let probes = 0; probes < 16; probes++) {
      clock.advance(1_000);
      passed(gate).refused(`${probes}`, 0);
    }
    clock.advance(1_000);
    expect(gate.pass()).not.toBeNull();
    clock.advance(1_000);
    expect(gate.pass()).toBeNull();
  });

  it("has others come again soon after a probe, and then with the next", () => {
    const { clock, gate } = closedByRefusals();
    clock.advance(1_000);
    passed(gate).refused("d", 0);
    expect(gate.closedMs).toBe(1_000);
    clock.advance(1_000);
    expect(gate.closedMs).toBeGreaterThanOrEqual(500);
    expect(gate.closedMs).toBeLessThanOrEqual(1_000);
  });

  it("lets another probe through while one hangs", () => {
    const { clock, gate } = closedByRefusals();
    clock.advance(1_000);
    passed(gate);
    clock.advance(2_000);
    passed(gate).judged();
    expect(gate.closed).toBeNull();
  });

  it("waits as long as the service asked, at most 5 minutes", () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(gate).refused("a", 3_600_000);
    clock.advance(299_999);
    expect(gate.pass()).toBeNull();
    clock.advance(1);
    passed(gate).refused("d", 60_000);
    clock.advance(59_999);
    expect(gate.pass()).toBeNull();
    clock.advance(1);
    expect(gate.pass()).not.toBeNull();
  });

  it("lengthens no pause for calls that were under way when it closed", () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    const late = passed(gate);
    refuse(gate, "a");
    clock.advance(1_000);
    expect(late.stale).toBe(true);
    late.refused("d", 60_000);
    expect(gate.pass()).not.toBeNull();
  });

  it("opens in time when the clock is set back, and never once it is stopped", () => {
    const clock = virtualClock();
    let offset = 0;
    const gate = createGate({ ...clock, now: () => clock.now() + offset });
    refuse(gate, "a");
    offset = -3_600_000;
    clock.advance(1_000);
    expect(gate.pass()).not.toBeNull();
    gate.stop();
    expect([gate.pass(), gate.closed, clock.pending]).toEqual([null, null, 0]);
  });
});

describe("a gate that meets silence", () => {
  it("closes after five silent calls in a row, and not when there was an answer between", () => {
    const gate = createGate(virtualClock());
    const pass = passed(gate);
    pass.silent(0);
    pass.answered();
    for (let silent = 0; silent < 4; silent++) pass.silent(0);
    expect([gate.closedMs, pass.stale]).toEqual([0, false]);
    pass.silent(0);
    expect([gate.closed, pass.stale]).toEqual(["silent", true]);
    expect(gate.pass()).toBeNull();
  });

  it("stays open for a minute after an answer in the midst of silence", () => {
    const clock = virtualClock();
    const gate = createGate(clock);
    passed(gate).silent(0);
    passed(gate).answered();
    for (let silent = 0; silent < 100; silent++) passed(gate).silent(0);
    clock.advance(60_000);
    passed(gate).silent(0);
    expect(gate.closed).toBe("silent");
  });

  it("probes at most every ten seconds", () => {
    const { gate, clock } = closedBySilence();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      clock.advance(pauseMs * 0.75 - 1);
      expect(gate.pass()).toBeNull();
      clock.advance(pauseMs * 0.25 + 1);
      passed(gate).silent(0);
      expect(gate.pass()).toBeNull();
    }
    clock.advance(10_000);
    passed(gate).judged();
    expect([gate.closed, gate.closedMs]).toEqual([null, 0]);
  });

  it("waits as long as the service asked, at most a minute", () => {
    const { gate, clock } = closedBySilence();
    clock.advance(1_000);
    passed(gate).silent(3_600_000);
    clock.advance(59_999);
    expect(gate.pass()).toBeNull();
    clock.advance(1);
    expect(gate.pass()).not.toBeNull();
  });

  it("opens at any answer, and goes over to a refused key", () => {
    const late = closedBySilence();
    late.stale.answered();
    expect(late.gate.closed).toBeNull();
    const { gate, clock } = closedBySilence();
    clock.advance(1_000);
    passed(gate).refused("a", 0);
    expect(gate.closed).toBe("refused");
  });
});
