import type { Pruned } from "@reporthook/core";
import { same, sameEach } from "../../assert.ts";
import { endedAs, type InboxCase, type InboxFixture, valid } from "../fixture.ts";

const dayMs = 86_400_000;

/** The promises about the end of parked deliveries: announced, then deleted, on a store that keeps them for 30 days. */
export const announcing: readonly InboxCase[] = [
  {
    name: "prune() announces parked deliveries 3 days before their end, and deletes them then, with the reasons",
    needs: ["clock"],
    async run(fixture) {
      const { inbox, put } = fixture;
      await parkTwo(fixture);
      const id = await put();
      same(told(await pruneAfter(fixture, 26.9 * dayMs)), nothing, "After 26.9 days");
      const two = { no_handler: 1, do_not_retry: 1 };
      const soon = await pruneAfter(fixture, 0.2 * dayMs);
      same(told(soon), { ...nothing, announced: two }, "After 27.1 days");
      same(soon.noticeMs, 3 * dayMs, "The notice");
      same(told(await pruneAfter(fixture, 2.9 * dayMs)), nothing, "Just before the notice is over");
      same((await inbox.list({ state: "parked" })).length, 2, "Those still parked");
      const deleted = { held: 1, dead: 1 };
      const end = { deleted, parked: two, announced: {} };
      same(told(await pruneAfter(fixture, 0.2 * dayMs)), end, "After 30.2 days");
      same((await inbox.get(id))?.state, "received", "One that waits");
    },
  },
  {
    name: "prune() deletes no parked delivery before its notice is over, even when prune() comes late",
    needs: ["clock"],
    async run(fixture) {
      await parkTwo(fixture);
      const two = { no_handler: 1, do_not_retry: 1 };
      const late = await pruneAfter(fixture, 365 * dayMs);
      same(told(late), { ...nothing, announced: two }, "After a year");
      same(told(await pruneAfter(fixture, 2.9 * dayMs)), nothing, "2.9 days later");
      const { parked } = await pruneAfter(fixture, 0.2 * dayMs);
      same(parked, two, "3.1 days later");
    },
  },
  {
    name: "a release ends an announcement: a delivery parked again is kept and announced as any other",
    needs: ["clock"],
    async run(fixture) {
      const { inbox, act, work } = fixture;
      const [held = ""] = await parkTwo(fixture);
      await pruneAfter(fixture, 28 * dayMs);
      await act("release", held);
      await work("handle", endedAs("dead", "poison"));
      same((await pruneAfter(fixture, 4 * dayMs)).parked, { do_not_retry: 1 }, "The other one");
      same((await inbox.get(held))?.state, "dead", "The one that was released");
      const { announced } = await pruneAfter(fixture, 23.5 * dayMs);
      same(announced, { poison: 1 }, "27.5 days after it was parked again");
      same((await pruneAfter(fixture, 3.1 * dayMs)).parked, { poison: 1 }, "At its end");
    },
  },
  {
    name: "an announced delivery is listed, counted, released and discarded as any other",
    needs: ["clock"],
    async run(fixture) {
      const { inbox, act } = fixture;
      const ids = await parkTwo(fixture);
      const [before] = await inbox.list({ state: "parked" });
      await pruneAfter(fixture, 28 * dayMs);
      const listed = await inbox.list({ state: "parked" });
      sameEach(listed, "id", ids, "Those listed");
      same(listed[0], before, "An entry");
      const { parked, parkedChangedAt } = await inbox.summary(noTime);
      same(parked, { no_handler: 1, do_not_retry: 1 }, "Those counted");
      same(parkedChangedAt, listed[1]?.changedAt, "When one changed last");
      same(await act("release", { reason: "no_handler" }), 1, "How many were released");
      same(await act("discard", { state: "parked" }), 1, "How many were discarded");
      same(told(await pruneAfter(fixture, 365 * dayMs)), nothing, "What is left to delete");
    },
  },
  {
    name: "prune() with dryRun announces and deletes nothing",
    needs: ["clock"],
    async run(fixture) {
      const { inbox, clock } = fixture;
      await parkTwo(fixture);
      clock.advance(28 * dayMs);
      const dry = () => inbox.prune(new Date(clock.now()), { dryRun: true });
      const two = { no_handler: 1, do_not_retry: 1 };
      for (const time of ["first", "second"]) {
        same(told(await dry()), { ...nothing, announced: two }, `The ${time} time`);
      }
      same((await pruneAfter(fixture, 0)).announced, two, "What is announced then");
    },
  },
];

const noTime = { from: new Date(0), until: new Date(0) };
const nothing = { deleted: {}, parked: {}, announced: {} };

/** Parks a held and a dead one; resolves to their ids. */
async function parkTwo({ put, work, clock }: InboxFixture): Promise<string[]> {
  const ids = [await put(), await put()];
  await work("verify", valid, valid);
  await work("handle", endedAs("held", "no_handler"));
  clock.advance(1);
  await work("handle", endedAs("dead", "do_not_retry"));
  return ids;
}

function pruneAfter({ inbox, clock }: InboxFixture, ms: number): Promise<Pruned> {
  clock.advance(ms);
  return inbox.prune(new Date(clock.now()));
}

function told({ deleted, parked, announced }: Pruned): Pick<Pruned, keyof typeof nothing> {
  return { deleted, parked, announced };
}
