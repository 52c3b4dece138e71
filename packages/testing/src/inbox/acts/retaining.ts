import type { Arrival } from "@reporthook/core";
import { maxUnsigned, noBacklog, states } from "@reporthook/core/store";
import { same, sameEach } from "../../assert.ts";
import {
  endedAs,
  handled,
  type InboxCase,
  type InboxFixture,
  later,
  putMany,
  type Step,
  valid,
} from "../fixture.ts";
import type { Parts } from "../made.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Held at its arrival, for want of a signature. */
export const unsigned: Arrival & { readonly to: "held" } = {
  to: "held",
  verification: "unsigned",
  reason: { code: "unsigned", message: "!" },
};
/** A test notification without a signature. */
export const unsignedTest: Parts = {
  signature: null,
  arrival: {
    to: "verified",
    verification: "unsigned",
    type: "test_webhook_endpoint",
    reportId: null,
  },
};

/** The promises about stored deliveries: how they are shown, and how long they are kept. */
export const retaining: readonly InboxCase[] = [
  {
    name: "list() chooses by state and receiver, oldest first",
    async run(fixture) {
      const { inbox, put } = fixture;
      const ids = await oneInEachState(fixture);
      const other = await put({ receiver: "b" });
      for (const state of states) {
        const found = await inbox.list({ receiver: "a", state });
        sameEach(found, "id", [ids[state]], `Those ${state}`);
      }
      const idsOf = async (query: Parameters<typeof inbox.list>[0]) =>
        (await inbox.list(query)).map(({ id }) => id);
      same(await idsOf({ state: "parked" }), [ids.held, ids.dead].sort(), "Those parked");
      same(await idsOf({ receiver: "a" }), Object.values(ids).sort(), "Those of a");
      same(await idsOf({}), [...Object.values(ids), other].sort(), "All");
      same(await idsOf({ receiver: "nobody" }), [], "Those of nobody");
    },
  },
  {
    name: "list() goes page by page, 100 unless told",
    async run({ inbox, put, work }) {
      const ids: string[] = [];
      for (let count = 0; count < 120; count++) ids.push(await put());
      same((await inbox.list()).length, 100, "The first page");
      const pages: string[] = [];
      for (let count = 0; count < 4; count++) {
        const after = pages.at(-1) ?? "";
        const page = await inbox.list({ limit: 50, after, state: "received" });
        pages.push(...page.map(({ id }) => id));
        same(page.length <= 50, true, "No page is longer than its limit");
      }
      same(pages, ids, "All pages");
      await work("verify", valid);
      const [first] = await inbox.list({ state: "verified", limit: 1 });
      const rest = await inbox.list({ state: "verified", after: first?.id ?? "" });
      same(rest, [], "What is after the last");
    },
  },
  {
    name: "get() shows an entry to its receiver, null to others",
    async run({ inbox, put }) {
      const id = await put();
      same((await inbox.get(id, "a"))?.id, id, "To its receiver");
      same(await inbox.get(id, "b"), null, "To another");
      same(await inbox.get("no such id"), null, "One that is not there");
    },
  },
  {
    name: "counts() and backlog() follow the entries",
    async run(fixture) {
      const { inbox, clock, put, work } = fixture;
      same(inbox.backlog("a"), noBacklog, "The load when there is none");
      await oneInEachState(fixture);
      const one = { received: 1, verified: 1, handled: 1, held: 1, rejected: 1, dead: 1 };
      same(await inbox.counts("a"), one, "The counts");
      same(inbox.backlog("a"), { ...noBacklog, waiting: 2, unverified: 1 }, "The load");
      const old = clock.now() - 20_000;
      await put({ at: old, receiver: "b" });
      await put({ signature: null, arrival: unsigned, receiver: "b" });
      await put({ ...unsignedTest, receiver: "b" });
      const load = { ...noBacklog, waiting: 2, unverified: 1, unsignedWaiting: 1, unsignedHeld: 1 };
      same(inbox.backlog("b"), load, "The load of b");
      same((await inbox.counts("b")).received, 1, "The counts of b");
      same((await inbox.counts()).received, 2, "The counts of all receivers");
      await work("verify", valid);
      await work("handle", handled, handled);
      same(inbox.backlog("a").waiting, 0, "How many wait when all is done");
    },
  },
  {
    name: "prune() deletes deliveries whose retention is over, counted from their final state",
    needs: ["clock"],
    async run(fixture) {
      const { inbox, clock, put } = fixture;
      await put({ signature: null, arrival: unsigned });
      const held = { to: "held", reason: { code: "no_handler", message: "!" } } as const;
      await put({ arrival: held });
      clock.advance(hourMs);
      await oneInEachState(fixture);
      const prune = async (ms: number): Promise<unknown> => {
        clock.advance(ms);
        const now = new Date(clock.now());
        const foreseen = await inbox.prune(now, { dryRun: true });
        const { deleted, unsigned: silently } = await inbox.prune(now);
        same([foreseen.deleted, foreseen.unsigned], [deleted, silently], "What the dry run said");
        const left = Object.entries(await inbox.counts("a")).filter(([, count]) => count > 0);
        const isSilent = Object.keys(silently).length > 0;
        return { deleted, ...(isSilent && { silently }), ...Object.fromEntries(left) };
      };
      const stored = { received: 1, verified: 1 };
      const all = { handled: 1, rejected: 1, dead: 1, ...stored };
      same(await prune(22 * hourMs), { deleted: {}, ...all, held: 3 }, "After 23 hours");
      const silently = { unsigned: 1 };
      const unsignedOne = { deleted: { held: 1 }, silently, ...all, held: 2 };
      same(await prune(1.5 * hourMs), unsignedOne, "After 24.5 hours");
      const { rejected, ...rest } = all;
      same(await prune(hourMs), { deleted: { rejected }, ...rest, held: 2 }, "After 25.5 hours");
      same(await prune(5 * dayMs), { deleted: {}, ...rest, held: 2 }, "After 6 days");
      const parked = { dead: 1, ...stored };
      same(await prune(dayMs), { deleted: { handled: 1 }, ...parked, held: 2 }, "After 7 days");
      same(await prune(20.5 * dayMs), { deleted: {}, ...parked, held: 2 }, "After 27.5 days");
      same(await prune(2 * dayMs), { deleted: {}, ...parked, held: 2 }, "After 29.5 days");
      const gone = { deleted: { held: 2, dead: 1 }, ...stored };
      same(await prune(1.1 * dayMs), gone, "After 30.6 days");
      same(await prune(365 * dayMs), { deleted: {}, ...stored }, "After more than a year");
    },
  },
  {
    name: "prune() keeps the latest 1,000 handled and 1,000 dead without a signature",
    async run({ inbox, act, put, work, consume, until, patiently }) {
      const dead = endedAs("dead", "do_not_retry", { error: "no" });
      const signed = [await put(), await put()];
      await work("verify", valid, valid);
      await work("handle", handled, dead);
      const held = await put({ signature: null, arrival: unsigned });
      const two = async (step: Step = dead): Promise<[string, string]> => {
        const ids = [await put(unsignedTest), await put(unsignedTest)] as [string, string];
        await work("handle", handled, step);
        return ids;
      };
      const first = await two();
      const ids = await putMany({ put, patiently }, 2 * maxUnsigned, unsignedTest);
      const isOdd = (id: string): boolean => ids.indexOf(id) % 2 === 1;
      const step: Step = ({ id }) => (isOdd(id) ? dead : handled);
      const { consumer, recorded } = consume("handle", step, { concurrency: 100 });
      await until(() => recorded.length === ids.length, "all are recorded");
      await patiently(consumer.stop(), "stop()");
      const last = await two(endedAs("dead", "not_understood"));
      const counts = { handled: maxUnsigned + 1, dead: maxUnsigned + 1, held: 1 };
      const none = { received: 0, verified: 0, rejected: 0 };
      same(await inbox.counts(), { ...none, ...counts }, "How many are kept");
      for (const id of first) same(await inbox.get(id), null, "One of the first");
      same((await inbox.facts("a")).deleted, { do_not_retry: 2 }, "The parked ones that made room");
      const found = await Promise.all([...signed, held, ...last].map((id) => inbox.get(id)));
      const states = ["handled", "dead", "held", "handled", "dead"];
      same(
        found.map((entry) => entry?.state),
        states,
        "Those with a signature, the held one, and the last",
      );
      same(new Set(found.map((entry) => typeof entry?.body)), new Set(["string"]), "Their bodies");
      same(await act("release", last[0]), 1, "One that was handled without a signature");
      same(await act("release", { state: "handled" }), 1, "Those with a signature");
    },
  },
  {
    name: "prune() counts from the verdict, not from the receipt",
    needs: ["clock"],
    async run({ inbox, clock, put, work }) {
      await put();
      clock.advance(23 * hourMs);
      await work("verify", endedAs("rejected", "invalid_signature"));
      clock.advance(2 * hourMs);
      same((await inbox.prune(new Date(clock.now()))).deleted, {}, "After 2 hours");
      clock.advance(23 * hourMs);
      same((await inbox.prune(new Date(clock.now()))).deleted, { rejected: 1 }, "After 25 hours");
    },
  },
  {
    name: "prune() keeps the copy of a handled delivery from being stored again within 24 hours",
    needs: ["clock"],
    async run({ inbox, clock, make, put, add, work }) {
      const parts = { signature: "s", body: "{}" };
      const id = await put(parts);
      await work("verify", valid);
      await work("handle", handled);
      clock.advance(23 * hourMs);
      await inbox.prune(new Date(clock.now()));
      same(await add(await make(parts)), { status: "duplicate", id }, "When it comes again");
    },
  },
];

type Ids = Record<(typeof states)[number], string>;

/** Puts one delivery into each state in which it may stay. */
export async function oneInEachState({ put, work }: InboxFixture): Promise<Ids> {
  const rejected = await put();
  await work("verify", endedAs("rejected", "invalid_signature"));
  const after = async (...outcomes: Parameters<typeof work>[1][]): Promise<string> => {
    const id = await put();
    await work("verify", valid);
    if (outcomes.length > 0) await work("handle", ...outcomes);
    return id;
  };
  return {
    rejected,
    held: await after(endedAs("held", "no_handler")),
    dead: await after(later(0), endedAs("dead", "do_not_retry", { error: "no" })),
    handled: await after(handled),
    verified: await after(),
    received: await put(),
  };
}
