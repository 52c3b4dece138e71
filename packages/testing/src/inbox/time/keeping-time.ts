import { noMark } from "@reporthook/core/store";
import { same } from "../../assert.ts";
import { endedAs, type InboxCase, later, valid } from "../fixture.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The promises about the time that a store keeps, and the times of its entries. */
export const keepingTime: readonly InboxCase[] = [
  {
    name: "keepTime() keeps the mark that is later in lived time, and the longest hold",
    async run({ inbox }) {
      if (inbox.keepTime === undefined) return;
      same(await inbox.keepTime(noMark), noMark, "The mark of a new store");
      const first = { livedAt: 1_000, wallAt: 5_000, furthestAt: 6_000, unseenMs: 1, heldMs: 7 };
      same(await inbox.keepTime(first), first, "The first mark");
      const second = { livedAt: 2_000, wallAt: 3_000, furthestAt: 7_000, unseenMs: 0, heldMs: 3 };
      same(await inbox.keepTime(second), { ...second, heldMs: 7 }, "A later one");
      same(await inbox.keepTime(first), { ...second, heldMs: 7 }, "An earlier one");
      same(await inbox.keepTime(noMark), { ...second, heldMs: 7 }, "The mark that is kept");
    },
  },
  {
    name: "nextAttemptAt is by the wall clock of the last mark",
    async run({ inbox, clock, put, work }) {
      if (inbox.keepTime === undefined) return;
      const id = await put();
      await work("verify", valid);
      await work("handle", later(hourMs));
      const before = Number((await inbox.get(id))?.nextAttemptAt);
      const now = clock.now();
      await inbox.keepTime({ ...noMark, livedAt: now, wallAt: now + dayMs });
      same(Number((await inbox.get(id))?.nextAttemptAt), before + dayMs, "In get()");
      const [entry] = await inbox.list({ state: "verified" });
      same(Number(entry?.nextAttemptAt), before + dayMs, "In list()");
    },
  },
  {
    name: "changedAt of an entry that changes after it was shown is later",
    async run({ inbox, act, put, work }) {
      const [one, other] = [await put(), await put()];
      const shown = await inbox.list();
      const newest = Math.max(...shown.map(({ changedAt }) => Number(changedAt)));
      await work("verify", valid, endedAs("held", "not_verified"));
      const changed = [await inbox.get(one), await inbox.get(other)];
      for (const entry of changed)
        same(Number(entry?.changedAt) > newest, true, "After an attempt");
      const held = changed.find((entry) => entry?.state === "held");
      await act("release", held?.id ?? "");
      const released = await inbox.get(held?.id ?? "");
      same(Number(released?.changedAt) > Number(held?.changedAt), true, "After a release");
    },
  },
];
