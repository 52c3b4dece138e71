import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { CircuitBreaker, type Permit } from "./circuit-breaker.ts";

const permitted = (breaker: CircuitBreaker): Permit => {
  const permit = breaker.permit();
  if (permit === null) throw new Error("did not permit");
  return permit;
};

/** Several calls at once, each of another signature. */
function refuse(breaker: CircuitBreaker, ...signatures: string[]): void {
  const permits = signatures.map(() => permitted(breaker));
  for (const [index, permit] of permits.entries())
    breaker.unauthorized(permit, signatures[index] ?? "", 0);
}

function make(everValid = false) {
  const clock = manualClock();
  return { clock, breaker: new CircuitBreaker(clock, { everValid }) };
}

function openByRefusals() {
  const made = make();
  refuse(made.breaker, "a");
  return made;
}

function openBySilence() {
  const { clock, breaker } = make();
  const permits = Array.from({ length: 8 }, () => permitted(breaker));
  for (const permit of permits) breaker.unavailable(permit, 0);
  return { breaker, clock, stale: permits[0] as Permit };
}

describe("odd answers", () => {
  it("the circuit breaker tells once five signatures got one, and starts to count again after a verdict", () => {
    const { breaker } = make();
    const other = permitted(breaker);
    for (const signature of "aabcdd") breaker.odd(permitted(breaker), signature);
    expect(breaker.isOdd).toBe(false);
    breaker.odd(permitted(breaker), "e");
    expect(breaker.isOdd).toBe(true);
    breaker.judged(other, 0);
    expect([breaker.isOdd, breaker.open]).toEqual([false, null]);
  });
});

describe("refusals", () => {
  it("the circuit breaker opens at the first refusal before any verdict, else at two different signatures in a row", () => {
    expect(openByRefusals().breaker.open).toBe("unauthorized");
    const { breaker } = make();
    breaker.judged(permitted(breaker), 0);
    for (let again = 0; again < 20; again++) refuse(breaker, "a");
    expect([breaker.open, breaker.openMs]).toEqual([null, 0]);
    refuse(breaker, "b");
    expect(breaker.open).toBe("unauthorized");
    expect(breaker.permit()).toBeNull();
  });

  it("the circuit breaker starts to count again after a verdict", () => {
    const { breaker } = make();
    breaker.judged(permitted(breaker), 0);
    const other = permitted(breaker);
    refuse(breaker, "a");
    breaker.judged(other, 0);
    refuse(breaker, "b");
    expect(breaker.open).toBeNull();
    refuse(breaker, "c");
    expect(breaker.open).toBe("unauthorized");
  });

  it("the circuit breaker stays closed for 5 minutes after a verdict amid refusals", () => {
    const { clock, breaker } = make();
    breaker.judged(permitted(breaker), 0);
    refuse(breaker, "a");
    breaker.judged(permitted(breaker), 0);
    for (let sent = 0; sent < 1_000; sent++) refuse(breaker, `${sent}`);
    clock.advance(299_999);
    refuse(breaker, "x");
    expect(breaker.open).toBeNull();
    clock.advance(1);
    refuse(breaker, "y");
    expect(breaker.open).toBe("unauthorized");
  });

  it("the circuit breaker permits one probe after a pause that doubles; nobody waits in it", () => {
    const { clock, breaker } = openByRefusals();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      clock.advance(pauseMs * 0.75 - 1);
      expect(breaker.permit()).toBeNull();
      clock.advance(pauseMs * 0.25 + 1);
      const probe = permitted(breaker);
      expect(breaker.permit()).toBeNull();
      breaker.unauthorized(probe, "d", 0);
    }
    clock.advance(30_000);
    breaker.judged(permitted(breaker), 0);
    expect(breaker.permit()).not.toBeNull();
  });

  it.each([
    ["in this process", false],
    ["before it began", true],
  ])(
    "the circuit breaker probes several signatures each second where the key has worked %s",
    (_when, everValid) => {
      const { clock, breaker } = make(everValid);
      if (!everValid) breaker.judged(permitted(breaker), 0);
      refuse(breaker, "a", "b");
      for (let second = 0; second < 600; second++) {
        expect(breaker.permit()).toBeNull();
        clock.advance(1_000);
        const permits = Array.from({ length: 4 }, () => permitted(breaker));
        expect(breaker.permit()).toBeNull();
        for (const permit of permits) breaker.unauthorized(permit, `${second}`, 0);
      }
    },
  );

  it("the circuit breaker calls others back soon after a probe, and then with the next probe", () => {
    const { clock, breaker } = openByRefusals();
    clock.advance(1_000);
    breaker.unauthorized(permitted(breaker), "d", 0);
    expect(breaker.openMs).toBe(1_000);
    clock.advance(1_000);
    expect(breaker.openMs).toBeGreaterThanOrEqual(500);
    expect(breaker.openMs).toBeLessThanOrEqual(1_000);
  });

  it("the circuit breaker permits another probe while the first hangs", () => {
    const { clock, breaker } = openByRefusals();
    clock.advance(1_000);
    permitted(breaker);
    clock.advance(2_000);
    breaker.judged(permitted(breaker), 0);
    expect(breaker.open).toBeNull();
  });

  it("the circuit breaker waits as long as the service asked, at most 30 seconds", () => {
    const { clock, breaker } = make();
    breaker.unauthorized(permitted(breaker), "a", 3_600_000);
    clock.advance(29_999);
    expect(breaker.permit()).toBeNull();
    clock.advance(1);
    breaker.unauthorized(permitted(breaker), "d", 20_000);
    clock.advance(19_999);
    expect(breaker.permit()).toBeNull();
    clock.advance(1);
    expect(breaker.permit()).not.toBeNull();
  });

  it("the circuit breaker does not lengthen a pause for calls under way when it opened", () => {
    const { clock, breaker } = make();
    const late = permitted(breaker);
    refuse(breaker, "a");
    clock.advance(1_000);
    expect(breaker.isStale(late)).toBe(true);
    breaker.unauthorized(late, "d", 60_000);
    expect(breaker.permit()).not.toBeNull();
  });

  it("the circuit breaker probes in time, and never once stopped", () => {
    const { clock, breaker } = openByRefusals();
    clock.advance(1_000);
    expect(breaker.permit()).not.toBeNull();
    breaker.stop();
    expect([breaker.permit(), breaker.open]).toEqual([null, null]);
  });
});

describe("silence", () => {
  it("the circuit breaker opens after five silent calls in a row, unless an answer came between", () => {
    const { breaker } = make();
    const permit = permitted(breaker);
    breaker.unavailable(permit, 0);
    breaker.answered(permit);
    for (let call = 0; call < 4; call++) breaker.unavailable(permit, 0);
    expect([breaker.openMs, breaker.isStale(permit)]).toEqual([0, false]);
    breaker.unavailable(permit, 0);
    expect([breaker.open, breaker.isStale(permit)]).toEqual(["unavailable", true]);
    expect(breaker.permit()).toBeNull();
  });

  it("the circuit breaker stays closed for a minute after an answer amid silence", () => {
    const { clock, breaker } = make();
    breaker.unavailable(permitted(breaker), 0);
    breaker.answered(permitted(breaker));
    for (let call = 0; call < 100; call++) breaker.unavailable(permitted(breaker), 0);
    clock.advance(60_000);
    breaker.unavailable(permitted(breaker), 0);
    expect(breaker.open).toBe("unavailable");
  });

  it("the circuit breaker probes at most every ten seconds", () => {
    const { breaker, clock } = openBySilence();
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]) {
      clock.advance(pauseMs * 0.75 - 1);
      expect(breaker.permit()).toBeNull();
      clock.advance(pauseMs * 0.25 + 1);
      breaker.unavailable(permitted(breaker), 0);
      expect(breaker.permit()).toBeNull();
    }
    clock.advance(10_000);
    breaker.judged(permitted(breaker), 0);
    expect([breaker.open, breaker.openMs]).toEqual([null, 0]);
  });

  it("the circuit breaker waits as long as the service asked, at most a minute", () => {
    const { breaker, clock } = openBySilence();
    clock.advance(1_000);
    breaker.unavailable(permitted(breaker), 3_600_000);
    clock.advance(59_999);
    expect(breaker.permit()).toBeNull();
    clock.advance(1);
    expect(breaker.permit()).not.toBeNull();
  });

  it("the circuit breaker closes at any answer, and changes to a refused key", () => {
    const late = openBySilence();
    late.breaker.answered(late.stale);
    expect(late.breaker.open).toBeNull();
    const { breaker, clock } = openBySilence();
    clock.advance(1_000);
    breaker.unauthorized(permitted(breaker), "a", 0);
    expect(breaker.open).toBe("unauthorized");
  });
});
