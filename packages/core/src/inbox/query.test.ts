import { testDelivery } from "@reporthook/test-support/jobs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { idAt } from "./id.ts";
import { filterEntries } from "./query.ts";
import { newStoredDelivery, type StoredDelivery } from "./stored-delivery.ts";

/** One that was received at a moment, the `nth` of it. */
function keptAt(ms: number, nth: number): StoredDelivery {
  const id = `${idAt(ms)}${String(nth).padStart(16, "0")}`;
  const delivery = testDelivery({ id, receivedAt: ms, arrivedAt: ms });
  return newStoredDelivery(delivery, { to: "received" }, null);
}

const idsOf = (all: readonly StoredDelivery[]): string[] => all.map(({ id }) => id);

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
