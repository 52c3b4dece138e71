import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { idAt } from "./id.ts";
import { filterEntries, idRange, summarize, zeroCounts } from "./query.ts";
import { newStoredDelivery, type StoredDelivery } from "./stored-delivery.ts";

const minuteMs = 60_000;

/** One that was received at a moment, the `nth` of it. */
function keptAt(ms: number, nth = 0, parts: Partial<StoredDelivery> = {}): StoredDelivery {
  const id = `${idAt(ms)}${String(nth).padStart(16, "0")}`;
  const source = { receiver: "a", url: "/", context: null, headers: {}, body: new Uint8Array() };
  const times = { receivedAt: ms, arrivedAt: ms, requestId: null };
  const delivery = { ...source, id, ...times, key: null, signature: "s" };
  return { ...newStoredDelivery(delivery, { to: "received" }, null), ...parts };
}

const idsOf = (all: readonly StoredDelivery[]): string[] => all.map(({ id }) => id);

describe("lists", () => {
  it("filterEntries() finds in the order of ids, not in that of the entries given", () => {
    const moments = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 12 });
    fc.assert(
      fc.property(moments, fc.integer({ min: 0, max: 13 }), (times, limit) => {
        const all = times.map((ms, index) => keptAt(ms, index));
        const ids = idsOf(all).sort();
        expect(idsOf(filterEntries(all, {}))).toEqual(ids);
        expect(idsOf(filterEntries(all, { limit }))).toEqual(ids.slice(0, limit));
        const newestFirst = [...ids].reverse().slice(0, limit);
        expect(idsOf(filterEntries(all, { newestFirst: true, limit }))).toEqual(newestFirst);
      }),
    );
  });

  it("idRange() has everything between its ends when nothing is asked for", () => {
    expect(idRange({})).toEqual({ first: "", below: "~" });
  });
});

describe("summaries", () => {
  const always = { from: new Date(0), until: new Date(10 * minuteMs) };

  it("summarize() has the minutes in order, each with its counts", () => {
    const all = [
      keptAt(2 * minuteMs + 1),
      keptAt(minuteMs, 0, { state: "handled" }),
      keptAt(2 * minuteMs),
      keptAt(10 * minuteMs),
    ];
    expect(summarize(all, always).minutes).toEqual([
      { at: new Date(minuteMs), counts: { ...zeroCounts(), handled: 1 } },
      { at: new Date(2 * minuteMs), counts: { ...zeroCounts(), received: 2 } },
    ]);
  });

  it("summarize() has the oldest of each state, and the parked by reason, of all times", () => {
    const reason = { code: "unsigned", message: "" } as const;
    const all = [
      keptAt(20 * minuteMs),
      keptAt(11 * minuteMs),
      keptAt(12 * minuteMs),
      keptAt(13 * minuteMs, 0, { state: "held", reason }),
      keptAt(14 * minuteMs, 0, { state: "held", reason }),
      keptAt(15 * minuteMs, 0, {
        state: "rejected",
        reason: { ...reason, code: "forged" as never },
      }),
    ];
    const { oldest, parked, minutes } = summarize(all, always);
    expect(oldest).toEqual({
      verified: null,
      handled: null,
      dead: null,
      received: new Date(11 * minuteMs),
      held: new Date(13 * minuteMs),
      rejected: new Date(15 * minuteMs),
    });
    expect(parked).toEqual({ unsigned: 2 });
    expect(minutes).toEqual([]);
  });
});
