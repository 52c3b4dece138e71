import { same, sameEach } from "../assert.ts";
import { oneInEachState, unsigned } from "./acts/retaining.ts";
import { endedAs, type InboxCase, later, valid } from "./fixture.ts";

const dayMs = 86_400_000;
const own = { to: "verified", reportId: null } as const;
const nothing = {
  counts: { received: 0, verified: 0, handled: 0, held: 0, rejected: 0, dead: 0 },
  newest: null,
  oldestUnverified: null,
  oldestWaiting: null,
  parked: [],
  deleted: {},
  expiring: null,
  failing: null,
};

/** The promises about the facts of a receiver, and about its notes. */
export const facts: readonly InboxCase[] = [
  {
    name: "receivers() names those that have used the store, if it has it",
    async run({ inbox, put }) {
      const names = inbox.receivers?.bind(inbox);
      if (names === undefined) return;
      same(await names(), [], "Those of a new store");
      await put({ receiver: "b" });
      await put();
      await put();
      same([...(await names())].sort(), ["a", "b"], "Those that stored something");
      await inbox.keepNotes("c", { "now/1": "{}" });
      same([...(await names())].sort(), ["a", "b", "c"], "One that has kept a note alone");
    },
  },
  {
    name: "facts() tells how many there are, when the newest and the oldest came, and why some are parked",
    async run(fixture) {
      const { inbox, clock, make, put, work } = fixture;
      same(await inbox.facts("a"), nothing, "The facts of nothing");
      await oneInEachState(fixture);
      const { counts, parked } = await inbox.facts("a");
      const one = { received: 1, verified: 1, handled: 1, held: 1, rejected: 1, dead: 1 };
      same(counts, one, "The counts");
      sameEach(parked, "count", [1, 1], "The parked ones by reason");
      const old = clock.now() - 20_000;
      const newest = await make({ receiver: "b" });
      await put({ at: old, receiver: "b" });
      await fixture.add(newest);
      const of = await inbox.facts("b");
      same([of.oldestUnverified, of.oldestWaiting], [old, old], "When the oldest of b arrived");
      same(of.newest, newest.receivedAt, "When the newest of b was received");
      const ofOwn = { receiver: "b", signature: null, at: clock.now() + 2 };
      await put({ ...ofOwn, arrival: { ...own, type: "report.overdue", verification: null } });
      await put({
        ...ofOwn,
        arrival: { ...own, type: "report.complete", verification: "settled" },
      });
      const { newest: stays } = await inbox.facts("b");
      same(stays, newest.receivedAt, "When the newest came that the receiver did not store itself");
      await put({ signature: null, arrival: unsigned, receiver: "b" });
      await put({ signature: null, arrival: unsigned, receiver: "b" });
      const [held] = (await inbox.facts("b")).parked;
      same([held?.reason, held?.count], ["unsigned", 2], "The unsigned ones of b");
      await work("verify", valid);
      same((await inbox.facts("a")).oldestUnverified, null, "The oldest when all are verified");
    },
  },
  {
    name: "facts() counts those that wait for another attempt, and tells their most frequent error",
    async run(fixture) {
      const { inbox, put, work } = fixture;
      for (let count = 0; count < 4; count++) await put();
      await work("verify", valid, valid, valid, valid);
      same((await inbox.facts("a")).failing, null, "Before any has failed");
      const failed = (error: string) => later(60_000, { error });
      await work(
        "handle",
        failed("Error: no report 17"),
        failed("Error: gone"),
        failed("Error: no report 18\n  at once"),
      );
      const { failing, oldestWaiting } = await inbox.facts("a");
      same(failing?.count, 3, "The number that failed");
      // Of either: they are of one kind.
      same(failing?.error?.slice(0, -1), "Error: no report 1", "Their most frequent error");
      same(oldestWaiting === null, false, "Whether they wait");
    },
  },
  {
    name: "facts() tells how many parked ones will be deleted, and when the first, once they are announced",
    needs: ["clock"],
    async run({ inbox, clock, put, work }) {
      await put();
      await put();
      await work("verify", endedAs("held", "not_verified"), endedAs("held", "not_verified"));
      await put({ signature: null, arrival: unsigned });
      const parkedAt = clock.now();
      same((await inbox.facts("a")).expiring, null, "Before the announcement");
      clock.advance(28 * dayMs);
      await inbox.prune(new Date(clock.now()));
      const since = clock.now();
      const deletedFrom = Math.max(parkedAt + 30 * dayMs, since + 3 * dayMs);
      const expiring = { count: 2, since, deletedFrom };
      same((await inbox.facts("a")).expiring, expiring, "Once it is announced");
      same((await inbox.facts("b")).expiring, null, "Of another receiver");
    },
  },
  {
    name: "facts() tells how many parked ones were deleted, by reason: by a person or by retention",
    needs: ["clock"],
    async run({ inbox, act, clock, put, work }) {
      for (let count = 0; count < 3; count++) await put();
      const held = endedAs("held", "no_handler");
      await work("verify", held, held, endedAs("held", "not_verified"));
      await put({ signature: null, arrival: unsigned, receiver: "b" });
      await act("discard", { reason: "no_handler" }, { dryRun: true });
      await act("release", { reason: "not_verified" });
      same((await inbox.facts("a")).deleted, {}, "Before any is");
      await act("discard", { reason: "no_handler" });
      clock.advance(1.5 * dayMs);
      const now = new Date(clock.now());
      await inbox.prune(now, { dryRun: true });
      await inbox.prune(now);
      await inbox.prune(now);
      same((await inbox.facts("a")).deleted, { no_handler: 2 }, "Those that a person deleted");
      same((await inbox.facts("b")).deleted, { unsigned: 1 }, "Those of another receiver");
    },
  },
  {
    name: "notes() finds the notes that keepNotes() has kept for a receiver, by the beginning of their keys",
    async run({ inbox }) {
      same(await inbox.notes("a", ""), {}, "The notes in the beginning");
      await inbox.keepNotes("a", { "hour/1": "{}", "hour/2": "é", told: "1" });
      await inbox.keepNotes("b", { "hour/1": "of b" });
      await inbox.keepNotes("a", { "hour/1": "changed", "hour/3": null });
      same(await inbox.notes("a", "hour/"), { "hour/1": "changed", "hour/2": "é" }, "Of hours");
      await inbox.keepNotes("a", { "hour/2": null });
      same(await inbox.notes("a", ""), { "hour/1": "changed", told: "1" }, "All");
      same(await inbox.notes("b", "hour/"), { "hour/1": "of b" }, "Of the other");
    },
  },
];
