import { createEmulator } from "@reporthook/emulator";
import { describe, expect, it } from "vitest";
import { createGate, type Pass } from "./gate.ts";

const { signal } = new AbortController();
const passed = (pass: Pass | null): Pass => {
  if (pass === null) throw new Error("did not pass");
  return pass;
};

describe("createGate()", () => {
  it("lets everything through when it is open", async () => {
    const gate = createGate(createEmulator().clock);
    expect(await gate.pass(signal, true)).not.toBeNull();
    expect(await gate.pass(signal, false)).not.toBeNull();
  });

  it("lets one probe through after a pause that doubles when the probe fails", async () => {
    const { clock } = createEmulator();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).close(0);
    for (const pauseMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      clock.advance(pauseMs - 500);
      expect(await gate.pass(signal, false)).toBeNull();
      clock.advance(500);
      const probe = passed(await gate.pass(signal, true));
      expect(await gate.pass(signal, false)).toBeNull();
      probe.close(0);
    }
    clock.advance(30_000);
    const waiting = [gate.pass(signal, true), gate.pass(signal, true)];
    passed((await gate.pass(signal, false)) ?? (await waiting[0]) ?? null).open();
    for (const pass of await Promise.all(waiting)) expect(pass).not.toBeNull();
  });

  it("waits as long as the service asked, at most 5 minutes", async () => {
    const { clock } = createEmulator();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).close(3_600_000);
    clock.advance(299_000);
    expect(await gate.pass(signal, false)).toBeNull();
    clock.advance(1_000);
    expect(await gate.pass(signal, false)).not.toBeNull();
  });

  it("lengthens no pause for calls that were under way when it closed", async () => {
    const { clock } = createEmulator();
    const gate = createGate(clock);
    const both = [passed(await gate.pass(signal, true)), passed(await gate.pass(signal, true))];
    for (const pass of both) pass.close(0);
    clock.advance(1_000);
    expect(await gate.pass(signal, false)).not.toBeNull();
    both[1]?.close(0);
    both[1]?.giveBack();
    expect(await gate.pass(signal, false)).toBeNull();
  });

  it("hands the probe's place on when it is given back", async () => {
    const { clock } = createEmulator();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).close(0);
    clock.advance(1_000);
    const probe = passed(await gate.pass(signal, true));
    const next = gate.pass(signal, true);
    probe.giveBack();
    expect(await next).not.toBeNull();
  });

  it("lets go of those that wait when their signal aborts, and when it stops", async () => {
    const { clock } = createEmulator();
    const gate = createGate(clock);
    passed(await gate.pass(signal, true)).close(0);
    const controller = new AbortController();
    const waiting = [gate.pass(controller.signal, true), gate.pass(signal, true)];
    controller.abort();
    expect(await waiting[0]).toBeNull();
    gate.stop();
    expect(await waiting[1]).toBeNull();
    expect(await gate.pass(signal, true)).toBeNull();
  });

  it("opens in time when the clock is set back", async () => {
    const { clock } = createEmulator();
    let offset = 0;
    const gate = createGate({ ...clock, now: () => clock.now() + offset });
    passed(await gate.pass(signal, true)).close(0);
    offset = -3_600_000;
    clock.advance(1_000);
    expect(await gate.pass(signal, false)).not.toBeNull();
  });
});
