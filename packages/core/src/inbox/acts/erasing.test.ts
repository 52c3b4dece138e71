import { testDelivery } from "@reporthook/test-support/jobs";
import { describe, expect, it } from "vitest";
import { newStoredDelivery, type StoredDelivery } from "../stored-delivery.ts";
import { applyErasing } from "../transitions.ts";
import { isErased, isOfReport } from "./erasing.ts";

const body = new TextEncoder().encode('{"customer":"Ada"}');
const delivery = testDelivery({ context: '{"customer":"Ada"}', body });
const attempt = { stage: "handle", at: new Date(1), ms: 1, outcome: "retry" } as const;

function stored(parts: Partial<StoredDelivery>): StoredDelivery {
  const history = [{ ...attempt, error: "Error: Ada" }];
  const failed = { lastError: "Error: Ada", error: "0abc", history };
  return { ...newStoredDelivery(delivery, { to: "received" }, null), ...failed, ...parts };
}

describe("erasing", () => {
  const message = "Error: Ada";

  it.each([
    ["received", null, "dead", "erased"],
    ["verified", null, "dead", "erased"],
    ["held", "no_handler", "held", "erased"],
    ["dead", "attempts_used_up", "dead", "erased"],
    ["handled", null, "handled", null],
    ["rejected", "invalid_signature", "rejected", "invalid_signature"],
  ] as const)(
    "applyErasing() of a delivery that is %s for %s leaves nothing of it but the counted facts",
    (state, code, after, reason) => {
      const one = stored({ state, reason: code === null ? null : { code, message } });
      applyErasing(one, { now: 5, by: "ada@host" });
      expect(one.state).toBe(after);
      expect(one.reason).toEqual(
        reason ? { code: reason, message: expect.stringContaining("Erased by a person") } : null,
      );
      expect(isErased(one)).toBe(true);
      expect(one.signature).toBeNull();
      expect(JSON.stringify(one)).not.toContain("Ada");
      expect(one.history).toEqual([
        { ...attempt, error: null },
        { at: new Date(5), act: "erase", by: "ada@host" },
      ]);
      expect(one.changedAt).toBe(5);
    },
  );

  it("applyErasing() leaves a delivery its earlier acts, and its later change by a process whose clock is ahead", () => {
    const release = { at: new Date(2), act: "release", by: null } as const;
    const one = stored({ history: [release], changedAt: 9 });
    applyErasing(one, { now: 5, by: null });
    expect(one.history).toEqual([release, { at: new Date(5), act: "erase", by: null }]);
    expect(one.changedAt).toBe(9);
  });

  it("isErased() is false as long as a delivery has its body, its context or an error", () => {
    const nothing = { body: null, context: null, lastError: null };
    expect(isErased(stored(nothing))).toBe(true);
    expect(isErased(stored({ ...nothing, body }))).toBe(false);
    expect(isErased(stored({ ...nothing, context: "{}" }))).toBe(false);
    expect(isErased(stored({ ...nothing, lastError: message }))).toBe(false);
  });

  it("isOfReport() finds an id below any name that ends with id, as a text or a number", () => {
    const of = (value: unknown): boolean =>
      isOfReport(new TextEncoder().encode(JSON.stringify(value)), "12");
    expect(
      [{ payload: { report_id: 12 } }, { data: [{ reportId: "12" }] }, { ID: "12" }].map(of),
    ).toEqual([true, true, true]);
    expect([{ count: 12 }, { id: "123" }, { id: ["12"] }, "12", null].map(of)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
    expect([isOfReport(null, "12"), isOfReport(new Uint8Array([123]), "12")]).toEqual([
      false,
      false,
    ]);
    expect(of({ idle: 12 })).toBe(false);
  });

  it("isOfReport() finds an id behind any depth", () => {
    const deep = `{"pad":${"[".repeat(100_000)}${"]".repeat(100_000)},"report_id":"12"}`;
    expect(isOfReport(new TextEncoder().encode(deep), "12")).toBe(true);
  });

  it("isOfReport() finds no report that is called null or true in an id that is neither text nor number", () => {
    const given = new TextEncoder().encode('{"report_id":null,"id":true}');
    expect([isOfReport(given, "null"), isOfReport(given, "true")]).toEqual([false, false]);
  });
});
