import { states } from "../delivery.ts";
import { rejects, same } from "./assert.ts";
import { type Bench, handled, later, left, valid, type Written } from "./inbox-bench.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const unsigned = {
  to: "held",
  verification: "unsigned",
  reason: { code: "unsigned", message: "!" },
} as const;

/** What is promised of what is kept: looking at it, running it again, deleting it. */
export const keeping: readonly Written[] = [
  {
    name: "release() runs held, dead and handled ones again: the same id, attempts from zero",
    async run(bench) {
      const { inbox, clock, work } = bench;
      const ids = await oneInEachState(bench);
      for (const state of ["held", "dead", "handled"] as const) {
        const id = ids[state];
        const released = await inbox.release({ receiver: "a", id, now: clock.now() });
        same(released, 1, "How many were released");
        const entry = await inbox.get(id);
        same(
          [entry?.state, entry?.reason, entry?.attempts, entry?.nextAttemptAt !== null],
          ["verified", null, 0, true],
          `The entry that was ${state}`,
        );
      }
      const waiting = {
        [ids.held]: true,
        [ids.dead]: true,
        [ids.handled]: true,
        [ids.verified]: false,
      };
      const jobs = await work("handle", handled, handled, handled, handled);
      const seen = Object.fromEntries(jobs.map((job) => [job.id, job.released]));
      same(seen, waiting, "What was handed out, and whether as released");
      same(
        jobs.map(({ attempts }) => attempts),
        [0, 0, 0, 0],
        "The attempts",
      );
      same((await inbox.counts("a")).handled, 4, "How many are handled");
    },
  },
  {
    name: "release() sends what never got a verdict back to be verified, with its signature",
    async run({ inbox, clock, put, work }) {
      const id = await put({ signature: "kept" });
      await work("verify", later(0, { memo: "m" }), left("held", "not_verified", { error: "no" }));
      same((await inbox.get(id))?.attempts, 2, "Its attempts");
      await inbox.release({ receiver: "a", id, now: clock.now() });
      same((await inbox.get(id))?.state, "received", "Its state");
      const [job] = await work("verify", valid);
      const { signature, released, attempts, memo } = job ?? {};
      same([signature, released, attempts, memo], ["kept", true, 0, null], "The job");
      const [next] = await work("handle", handled);
      same([next?.released, next?.signature], [true, null], "The job after the verdict");
    },
  },
  {
    name: "release() sends what got a verdict to be handled, without its signature",
    async run({ inbox, clock, put, work }) {
      const id = await put();
      await work("verify", left("held", "expired", { verification: "expired" }));
      await inbox.release({ receiver: "a", id, now: clock.now() });
      const [job] = await work("handle", handled);
      const { verification, signature, released } = job ?? {};
      same([job?.id, verification, signature, released], [id, "expired", null, true], "The job");
    },
  },
  {
    name: "release() sends an unsigned one to be handled",
    async run({ inbox, clock, put, work }) {
      const id = await put({ signature: null, arrival: unsigned, body: '{"b":1}' });
      await inbox.release({ receiver: "a", id, now: clock.now() });
      same(inbox.load("a").unsignedHeld, 0, "How many unsigned ones are held");
      const [job] = await work("handle", handled);
      const body = new TextDecoder().decode(job?.body);
      same(
        [job?.id, job?.verification, job?.released, body],
        [id, "unsigned", true, '{"b":1}'],
        "The job",
      );
    },
  },
  {
    name: "release() runs all that are parked for a reason",
    async run({ inbox, clock, put, work }) {
      await put();
      await put();
      await put();
      await put();
      await work("verify", valid, valid, valid, left("rejected", "invalid_signature"));
      const noHandler = left("held", "no_handler");
      await work("handle", noHandler, left("dead", "do_not_retry"), noHandler);
      const now = clock.now();
      const release = (receiver: string, reason: "no_handler" | "invalid_signature" | "poison") =>
        inbox.release({ receiver, reason, now });
      same(await release("b", "no_handler"), 0, "How many of another receiver");
      same(await release("a", "poison"), 0, "How many for another reason");
      same(await release("a", "invalid_signature"), 0, "How many that are not parked");
      same(await release("a", "no_handler"), 2, "How many were released");
      await work("handle", handled, handled);
      const { handled: done, dead } = await inbox.counts("a");
      same([done, dead], [2, 1], "How many are handled and dead");
    },
  },
  {
    name: "release() and discard() refuse what is unfinished or not there",
    async run(bench) {
      const { inbox, clock, put, consume, until } = bench;
      const ids = await oneInEachState(bench);
      const release = (id: string, receiver = "a") =>
        inbox.release({ receiver, id, now: clock.now() });
      for (const state of ["received", "verified", "rejected"] as const) {
        await rejects(release(ids[state]), "not_releasable");
      }
      for (const state of ["received", "verified", "handled", "rejected"] as const) {
        await rejects(inbox.discard(ids[state]), "not_parked");
      }
      await rejects(release("no such id"), "not_found");
      await rejects(release(ids.held, "b"), "not_found");
      await rejects(inbox.discard("no such id"), "not_found");
      await rejects(inbox.discard(ids.held, "b"), "not_found");
      const id = await put({ receiver: "c" });
      const { jobs } = consume("verify", () => new Promise(() => {}), { receiver: "c" });
      await until(() => jobs.length === 1, "it runs");
      await rejects(release(id, "c"), "not_releasable");
      await rejects(inbox.discard(id, "c"), "not_parked");
      same((await inbox.counts("a")).held, 1, "How many are held");
    },
  },
  {
    name: "discard() deletes a parked one, so that it is stored again when it comes again",
    async run({ inbox, make, put, add, work }) {
      for (const to of ["held", "dead"] as const) {
        const parts = { signature: to, body: "{}" };
        const id = await put(parts);
        await work("verify", valid);
        await work("handle", left(to, "do_not_retry"));
        await inbox.discard(id, "a");
        same(await inbox.get(id), null, "The discarded one");
        same((await inbox.counts("a"))[to], 0, `How many are ${to}`);
        const copy = await make(parts);
        same(await add(copy), { status: "added", id: copy.id }, "When it comes again");
        await work("verify", valid);
        await work("handle", handled);
      }
    },
  },
  {
    name: "list() chooses by state and receiver, oldest first",
    async run(bench) {
      const { inbox, put } = bench;
      const ids = await oneInEachState(bench);
      const other = await put({ receiver: "b" });
      for (const state of states) {
        const found = await inbox.list({ receiver: "a", state });
        same(
          found.map(({ id }) => id),
          [ids[state]],
          `Those ${state}`,
        );
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
    name: "counts(), load() and oldestWaiting() follow the entries",
    async run(bench) {
      const { inbox, clock, put, work } = bench;
      same(await inbox.oldestWaiting("a"), null, "The oldest when there is none");
      const nothing = { waiting: 0, unverified: 0, unsignedWaiting: 0, unsignedHeld: 0 };
      same(inbox.load("a"), nothing, "The load when there is none");
      await oneInEachState(bench);
      const one = { received: 1, verified: 1, handled: 1, held: 1, rejected: 1, dead: 1 };
      same(await inbox.counts("a"), one, "The counts");
      same(inbox.load("a"), { ...nothing, waiting: 2, unverified: 1 }, "The load");
      const old = clock.now() - 20_000;
      await put({ at: old, receiver: "b" });
      same(await inbox.oldestWaiting("b"), new Date(old), "The oldest of b");
      await bench.put({ signature: null, arrival: unsigned, receiver: "b" });
      await bench.put({
        ...{ signature: null, receiver: "b" },
        arrival: { to: "verified", verification: "unsigned", type: null, reportId: null },
      });
      const load = { waiting: 2, unverified: 1, unsignedWaiting: 1, unsignedHeld: 1 };
      same(inbox.load("b"), load, "The load of b");
      same((await inbox.counts()).received, 2, "The counts of all receivers");
      await work("verify", valid);
      await work("handle", handled, handled);
      same(await inbox.oldestWaiting("a"), null, "The oldest when all is done");
      same(inbox.load("a").waiting, 0, "How many wait when all is done");
    },
  },
  {
    name: "prune() deletes what its retention no longer keeps, counted from the end of its way",
    needs: ["clock"],
    async run(bench) {
      const { inbox, clock, put } = bench;
      await put({ signature: null, arrival: unsigned });
      const held = { to: "held", reason: { code: "no_handler", message: "!" } } as const;
      await put({ arrival: held });
      clock.advance(hourMs);
      await oneInEachState(bench);
      const prune = async (ms: number): Promise<unknown> => {
        clock.advance(ms);
        const pruned = await inbox.prune(new Date(clock.now()));
        const left = Object.entries(await inbox.counts("a")).filter(([, count]) => count > 0);
        return { pruned, ...Object.fromEntries(left) };
      };
      const kept = { received: 1, verified: 1 };
      const all = { handled: 1, rejected: 1, dead: 1, ...kept };
      same(await prune(22 * hourMs), { pruned: 0, ...all, held: 3 }, "After 23 hours");
      same(await prune(1.5 * hourMs), { pruned: 1, ...all, held: 2 }, "After 24.5 hours");
      const { rejected, ...rest } = all;
      same(await prune(hourMs), { pruned: rejected, ...rest, held: 2 }, "After 25.5 hours");
      same(await prune(5 * dayMs), { pruned: 0, ...rest, held: 2 }, "After 6 days");
      const parked = { dead: 1, ...kept };
      same(await prune(dayMs), { pruned: 1, ...parked, held: 2 }, "After 7 days");
      same(await prune(22 * dayMs), { pruned: 0, ...parked, held: 2 }, "After 29 days");
      same(await prune(dayMs), { pruned: 3, ...kept }, "After 30 days");
      same(await prune(365 * dayMs), { pruned: 0, ...kept }, "After more than a year");
    },
  },
  {
    name: "prune() counts from the verdict, not from the receipt",
    needs: ["clock"],
    async run({ inbox, clock, put, work }) {
      await put();
      clock.advance(23 * hourMs);
      await work("verify", left("rejected", "invalid_signature"));
      clock.advance(2 * hourMs);
      same(await inbox.prune(new Date(clock.now())), 0, "After 2 hours");
      clock.advance(23 * hourMs);
      same(await inbox.prune(new Date(clock.now())), 1, "After 25 hours");
    },
  },
  {
    name: "prune() keeps a handled one's copy from being stored again within 24 hours",
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

/** Puts one entry into each state, for receiver `a`; resolves to their ids. */
async function oneInEachState({ put, work }: Bench): Promise<Ids> {
  const rejected = await put();
  await work("verify", left("rejected", "invalid_signature"));
  const after = async (...outcomes: Parameters<typeof work>[1][]): Promise<string> => {
    const id = await put();
    await work("verify", valid);
    if (outcomes.length > 0) await work("handle", ...outcomes);
    return id;
  };
  return {
    rejected,
    held: await after(left("held", "no_handler")),
    dead: await after(later(0), left("dead", "do_not_retry", { error: "no" })),
    handled: await after(handled),
    verified: await after(),
    received: await put(),
  };
}
