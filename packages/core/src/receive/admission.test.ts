import { manualClock } from "@reporthook/testing/internals";
import { describe, expect, it, vi } from "vitest";
import type { Recognition } from "../events/recognize.ts";
import { type Backlog, noBacklog } from "../inbox/counts.ts";
import { oncePerMinute } from "../lib/log.ts";
import { receiverSettingsOf } from "../options/receiver-settings.ts";
import { Admission } from "./admission.ts";

const test = { type: "test_webhook_endpoint", payload: "", reportId: null } as const;
const other = { type: "unknown", reportId: null } as const;
const client = { authorize: async () => "valid" as const };

function make(given: object = {}) {
  const clock = manualClock();
  const logger = { warn: vi.fn(), error: vi.fn() };
  const lines = oncePerMinute(clock, logger);
  const settings = receiverSettingsOf({ client, ...given });
  Object.assign(settings, { clock, oncePerMinute: lines });
  const tell = vi.fn();
  const admission = new Admission(settings, { phase: "working" }, { tell });
  const admit = (claims: Recognition, load: Backlog = noBacklog) => {
    settings.inbox.backlog = () => load;
    return admission.unsigned(claims, { headers: { host: "app.example" } });
  };
  return { admit, clock, logger, tell };
}

describe("admission", () => {
  it("Admission.unsigned() has tests handled and holds others, of which it tells", () => {
    const { admit, tell } = make();
    expect(admit(test)).toMatchObject({ to: "verified", verification: "unsigned" });
    expect(admit(other)).toMatchObject({
      to: "held",
      verification: "unsigned",
      reason: { code: "unsigned" },
    });
    expect(tell.mock.calls).toEqual([["unsigned", ["host"]]]);
  });

  it("Admission.unsigned() refuses what the options refuse, and spends nothing on it", () => {
    const { admit, logger } = make({ unsignedTests: "refuse" });
    for (let sent = 0; sent < 100; sent++) expect(admit(test)).toBeNull();
    expect(logger.warn).toHaveBeenCalledTimes(1);
    expect(admit(other)).not.toBeNull();
    expect(make({ unsigned: "refuse" }).admit(other)).toBeNull();
  });

  it("Admission.unsigned() refuses more than 10 a second, 100 waiting tests and 1,000 held others", () => {
    const { admit, clock } = make();
    const admitted = (most: number) =>
      Array.from({ length: most }, () => admit(other)).filter(Boolean).length;
    expect(admitted(4)).toBe(4);
    clock.advance(600);
    expect(admitted(50)).toBe(6);
    clock.advance(399);
    expect(admitted(50)).toBe(0);
    clock.advance(1);
    expect(admitted(50)).toBe(4);
    clock.advance(1_000);
    expect(admit(test, { ...noBacklog, unsignedWaiting: 100 })).toBeNull();
    expect(admit(other, { ...noBacklog, unsignedHeld: 1_000 })).toBeNull();
    expect(admit(test, { ...noBacklog, unsignedHeld: 1_000 })).not.toBeNull();
  });
});
