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

  it("filterEntries() gives 100 unless told otherwise", () => {
    const all = Array.from({ length: 101 }, (_, nth) => keptAt(1, nth));
    expect(filterEntries(all, {})).toEqual(all.slice(0, 100));
  });

  it("filterEntries() goes on after an id, in either direction", () => {
    const all = [1, 2, 3].map((ms) => keptAt(ms));
    const [first, second, third] = idsOf(all) as [string, string, string];
    expect(idsOf(filterEntries(all, { after: second }))).toEqual([third]);
    expect(idsOf(filterEntries(all, { after: second, newestFirst: true }))).toEqual([first]);
  });

  it("filterEntries() finds the ids that begin alike, and the entries of a span of time without its end", () => {
    const all = [31, 32, 33, 64].map((ms) => keptAt(ms));
    const ids = idsOf(all);
    expect(idsOf(filterEntries(all, { idPrefix: "000000001" }))).toEqual(ids.slice(1, 3));
    expect(idsOf(filterEntries(all, { idPrefix: ids[1] as string }))).toEqual([ids[1]]);
    const span = { from: new Date(32), until: new Date(64) };
    expect(idsOf(filterEntries(all, span))).toEqual(ids.slice(1, 3));
    expect(idsOf(filterEntries(all, { ...span, idPrefix: "000000000" }))).toEqual([]);
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
      ...{ verified: null, handled: null, dead: null, received: new Date(11 * minuteMs) },
      ...{ held: new Date(13 * minuteMs), rejected: new Date(15 * minuteMs) },
    });
    expect(parked).toEqual({ unsigned: 2 });
    expect(minutes).toEqual([]);
  });

  it("summarize() leaves other receivers out when it is asked for one", () => {
    const all = [keptAt(1), keptAt(2, 0, { receiver: "b" })];
    expect(summarize(all, { ...always, receiver: "b" }).oldest.received).toEqual(new Date(2));
    expect(summarize(all, always).minutes[0]?.counts.received).toBe(2);
  });
});
