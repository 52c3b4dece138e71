import { describe, expect, it } from "vitest";
import {
  cutOff,
  isKeyRefused,
  isParked,
  isWaiting,
  keyRefused,
  park,
  reject,
  retryIn,
  states,
} from "./delivery.ts";

describe("states", () => {
  it("isWaiting() is true as long as a stage has to run", () => {
    expect(states.filter(isWaiting)).toEqual(["received", "verified"]);
  });

  it("isParked() is true where a person has to decide", () => {
    expect(states.filter(isParked)).toEqual(["held", "dead"]);
  });
});

describe("outcomes", () => {
  it("retryIn() runs a stage again after its time, with what the next attempt has to know", () => {
    const rest = { countsAsAttempt: true, lastTurnAt: 7, retryState: "{}" };
    const retry = { to: "retry", afterMs: 1_000, error: "Error: busy", ...rest };
    expect(retryIn(1_000, "Error: busy", rest)).toEqual(retry);
  });

  it("cutOff runs a stage again at once, and counts as no attempt", () => {
    expect(cutOff).toEqual({ to: "retry", afterMs: 0, error: "stopped", countsAsAttempt: false });
  });

  it("park() names the reason, and no error when no attempt failed", () => {
    const reason = { code: "expired", message: "Too old" };
    expect(park("held", "expired", "Too old")).toEqual({ to: "held", reason, error: null });
    const failed = { to: "dead", reason, error: "Error: busy" };
    expect(park("dead", "expired", "Too old", "Error: busy")).toEqual(failed);
  });

  it("reject() names the reason", () => {
    const reason = { code: "invalid_signature", message: "Forged" };
    expect(reject("invalid_signature", "Forged")).toEqual({ to: "rejected", reason, error: null });
  });
});

describe("a refused key", () => {
  it.each([
    [true, "received", `${keyRefused}: 401`],
    [false, "received", `Error: ${keyRefused}`],
    [false, "received", null],
    [false, "held", `${keyRefused}: 401`],
  ] as const)(
    "isKeyRefused() is %s for a delivery that is %s with the error %s",
    (is, state, lastError) => {
      expect(isKeyRefused({ state, lastError })).toBe(is);
    },
  );
});
