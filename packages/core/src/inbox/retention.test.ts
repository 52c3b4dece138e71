import { testDelivery } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { noticeMsOf, retentionOf, retentionStep } from "./retention.ts";
import { newStoredDelivery } from "./stored-delivery.ts";

describe("options", () => {
  const dayMs = 86_400_000;

  it("retentionOf() is 7 and 30 days unless told otherwise", () => {
    expect(retentionOf("anInbox")).toEqual({ handledMs: 7 * dayMs, parkedMs: 30 * dayMs });
    expect(retentionOf("anInbox", { handledMs: 1 })).toEqual({
      handledMs: 1,
      parkedMs: 30 * dayMs,
    });
    expect(retentionOf("anInbox", { parkedMs: Number.POSITIVE_INFINITY }).parkedMs).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  it.each([
    [null, "retention must be an object, not null"],
    [7, "retention must be an object, not 7"],
    ["redis://:secret@host", "retention must be an object, not a string"],
    [{ days: 7 }, "retention.days is no option; these are: handledMs, parkedMs"],
    [{ handledMs: 0 }, "retention.handledMs must be a positive number of milliseconds, not 0"],
    [{ parkedMs: "7" }, 'retention.parkedMs must be a positive number of milliseconds, not "7"'],
    [
      { parkedMs: Number.NaN },
      "retention.parkedMs must be a positive number of milliseconds, not NaN",
    ],
  ])("retentionOf() throws a TypeError for %j", (given, message) => {
    expect(() => retentionOf("anInbox", given as object)).toThrow(
      new TypeError(`anInbox: ${message}`),
    );
  });
});

describe("steps", () => {
  const hourMs = 3_600_000;
  const reason = { code: "no_handler", message: "!" } as const;
  const delivery = testDelivery();

  it.each([
    [30 * 24, 72],
    [6 * 24, 72],
    [10, 5],
    [Number.POSITIVE_INFINITY, 72],
  ])(
    "retentionStep() announces the end of %i parked hours half of that before, at most 3 days",
    (kept, notice) => {
      const retention = retentionOf("anInbox", { parkedMs: kept * hourMs });
      expect(noticeMsOf(retention)).toBe(notice * hourMs);
      const stored = newStoredDelivery(delivery, { to: "held", reason }, null);
      const after = (hours: number) => retentionStep(stored, retention, hours * hourMs + 1);
      expect(after(kept - notice - 1)).toBe("keep");
      if (!Number.isFinite(kept)) return expect(after(1e9)).toBe("keep");
      expect(after(kept - notice)).toBe("announce");
      expect(after(10 * kept)).toBe("announce");
      stored.announcedAt = kept * hourMs;
      expect(after(kept)).toBe("keep");
      expect(after(kept + notice - 1)).toBe("keep");
      return expect(after(kept + notice)).toBe("delete");
    },
  );

  it("retentionStep() deletes unsigned deliveries after a day, without an announcement", () => {
    const arrival = { to: "held", reason, verification: "unsigned" } as const;
    const stored = newStoredDelivery(delivery, arrival, null);
    const retention = retentionOf("anInbox");
    expect(retentionStep(stored, retention, 24 * hourMs)).toBe("keep");
    expect(retentionStep(stored, retention, 24 * hourMs + 1)).toBe("delete");
  });
});
