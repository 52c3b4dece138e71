import type { Arrival } from "@reporthook/core";
import { noBacklog, withoutToken } from "@reporthook/core/store";
import { rejects, same, sameEach } from "../../assert.ts";
import { endedAs, handled, type InboxCase, later, valid } from "../fixture.ts";
import { oneInEachState, unsigned, unsignedTest } from "./retaining.ts";

/** Held at its arrival: genuine, and without the token that is required. */
const heldWithoutToken: Arrival & { readonly to: "held" } = {
  to: "held",
  verification: "valid",
  reason: { code: "no_token", message: "!" },
};

/** The promises of `release` and `discard`. */
export const releasing: readonly InboxCase[] = [
  {
    name: "release() runs held, dead and handled deliveries again: the same id, attempts from zero",
    async run(fixture) {
      const { inbox, act, work } = fixture;
      const ids = await oneInEachState(fixture);
      for (const state of ["held", "dead", "handled"] as const) {
        const id = ids[state];
        const released = await act("release", id);
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
      sameEach(jobs, "attempts", [0, 0, 0, 0], "The attempts");
      same((await inbox.counts("a")).handled, 4, "How many are handled");
    },
  },
  {
    name: "release() sends a delivery without a verdict back to be verified, with its signature",
    async run({ inbox, act, put, work }) {
      const id = await put({ signature: "kept" });
      await work(
        "verify",
        later(0, { retryState: "m" }),
        endedAs("held", "not_verified", { error: "no" }),
      );
      same((await inbox.get(id))?.attempts, 2, "Its attempts");
      await act("release", id);
      same((await inbox.get(id))?.state, "received", "Its state");
      const [job] = await work("verify", valid);
      const { signature, released, attempts, retryState } = job ?? {};
      same([signature, released, attempts, retryState], ["kept", true, 0, null], "The job");
      const [next] = await work("handle", handled);
      same([next?.released, next?.signature], [true, null], "The job after the verdict");
    },
  },
  {
    name: "release() sends a delivery with a verdict to be handled, without its signature",
    async run({ act, put, work }) {
      const id = await put();
      await work("verify", endedAs("held", "expired", { verification: "expired" }));
      await act("release", id);
      const [job] = await work("handle", handled);
      const { verification, signature, released } = job ?? {};
      same([job?.id, verification, signature, released], [id, "expired", null, true], "The job");
    },
  },
  {
    name: "the deliveries held without the token that is required are counted until they are released or deleted",
    async run({ inbox, clock, act, put, work }) {
      const parts = { context: withoutToken, arrival: heldWithoutToken };
      const ids = [await put(parts), await put(parts)];
      await put({ context: withoutToken });
      await work("verify", endedAs("rejected", "invalid_signature"));
      await put({ arrival: { ...heldWithoutToken, reason: { code: "no_handler", message: "!" } } });
      same(inbox.backlog("a").withoutToken, 2, "How many are held");
      const found = await inbox.list({ receiver: "a", reason: "no_token" });
      sameEach(found, "id", ids, "Those found by their reason");
      const query = { from: new Date(0), until: new Date(clock.now() + 1) };
      same((await inbox.summary(query)).parked, { no_token: 2, no_handler: 1 }, "The summary");
      same((await inbox.counts("a")).held, 3, "The count");
      await act("discard", ids[0] ?? "");
      same(inbox.backlog("a").withoutToken, 1, "How many once one is discarded");
      await act("release", { reason: "no_token" });
      same(inbox.backlog("a").withoutToken, 0, "How many once the other is released");
      const [job] = await work("handle", handled);
      same(
        [job?.id, job?.context, job?.verification, job?.released],
        [ids[1], withoutToken, "valid", true],
        "The released one",
      );
    },
  },
  {
    name: "release() sends an unsigned delivery to be handled",
    async run({ inbox, act, put, work }) {
      const id = await put({ signature: null, arrival: unsigned, body: '{"b":1}' });
      await act("release", id);
      same(inbox.backlog("a").unsignedHeld, 0, "How many unsigned ones are held");
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
    name: "backlog() counts a released delivery without a signature as a signed one: a person has vouched for it",
    async run({ inbox, act, put, work }) {
      const id = await put({ signature: null, arrival: unsigned });
      await act("release", id);
      const load = { ...noBacklog, waiting: 1 };
      same(inbox.backlog("a"), load, "The load of a released one");
      await work("handle", later(60_000));
      same(inbox.backlog("a"), load, "The load of one that is to be retried");
      await act("retry", id);
      await work("handle", endedAs("held", "no_handler"));
      same(inbox.backlog("a"), noBacklog, "The load of one that is held for another reason");
    },
  },
  {
    name: "release() runs all that are parked for a reason",
    async run({ inbox, act, put, work }) {
      await put();
      await put();
      await put();
      await put();
      await work("verify", valid, valid, valid, endedAs("rejected", "invalid_signature"));
      const noHandler = endedAs("held", "no_handler");
      await work("handle", noHandler, endedAs("dead", "do_not_retry"), noHandler);
      const release = (receiver: string, reason: "no_handler" | "invalid_signature" | "poison") =>
        act("release", { reason }, { receiver });
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
    name: "release() runs a dead delivery that came without a signature, and keeps it then as any other",
    async run({ inbox, act, clock, put, work }) {
      const dead = endedAs("dead", "do_not_retry", { error: "no" });
      const ids = [await put(unsignedTest), await put(unsignedTest), await put(unsignedTest)];
      await work("handle", dead, dead, dead);
      const parked = await inbox.list({ state: "parked", reason: "do_not_retry" });
      sameEach(parked, "id", ids, "Those parked");
      const span = { from: new Date(0), until: new Date(clock.now() + 1) };
      same((await inbox.summary(span)).parked, { do_not_retry: 3 }, "Those parked, by reason");
      await act("discard", ids[2] as string);
      same(await act("release", ids[0] as string), 1, "By its id");
      const all = await act("release", { reason: "do_not_retry" });
      same(all, 1, "For its reason");
      const jobs = await work("handle", handled, dead);
      same(
        jobs.map(({ released, verification }) => [released, verification]),
        [
          [true, "unsigned"],
          [true, "unsigned"],
        ],
        "The jobs",
      );
      const [first, second] = jobs.map(({ id }) => id) as [string, string];
      const entries = [await inbox.get(first), await inbox.get(second)];
      const shown = entries.map((entry) => [entry?.state, entry?.body !== null]);
      same(
        shown,
        [
          ["handled", true],
          ["dead", true],
        ],
        "The entries",
      );
      same(await act("release", first), 1, "Once more");
    },
  },
  {
    name: "release() runs a handled delivery that came without a signature again where its id is named, as it was shown",
    async run({ inbox, act, put, work }) {
      const id = await put(unsignedTest);
      await put(unsignedTest);
      await work("handle", handled, handled);
      const unchangedSince = (await inbox.get(id))?.changedAt;
      const handledOnes = { state: "handled", unchangedSince } as const;
      same(await act("release", handledOnes), 0, "Of a selection");
      same(
        await act("release", { ...handledOnes, idPrefix: id.slice(0, -1) }),
        0,
        "Of a beginning",
      );
      same(await act("release", { ...handledOnes, idPrefix: id }), 1, "Of the one that is named");
      const [job] = await work("handle", handled);
      same([job?.id, job?.released], [id, true], "The job");
    },
  },
  {
    name: "release() and discard() refuse a delivery that is unfinished or not there",
    async run(fixture) {
      const { inbox, act, put, consume, until } = fixture;
      const ids = await oneInEachState(fixture);
      const release = (id: string, receiver = "a") => act("release", id, { receiver });
      const discard = (id: string, receiver = "a") => act("discard", id, { receiver });
      for (const state of ["received", "verified", "rejected"] as const) {
        await rejects(release(ids[state]), "not_releasable");
      }
      for (const state of ["received", "verified", "handled", "rejected"] as const) {
        await rejects(discard(ids[state]), "not_parked");
      }
      await rejects(release("no such id"), "not_found");
      await rejects(release(ids.held, "b"), "not_found");
      await rejects(discard("no such id"), "not_found");
      await rejects(discard(ids.held, "b"), "not_found");
      const id = await put({ receiver: "c" });
      const { jobs } = consume("verify", () => new Promise(() => {}), { receiver: "c" });
      await until(() => jobs.length === 1, "it runs");
      await rejects(release(id, "c"), "not_releasable");
      await rejects(discard(id, "c"), "not_parked");
      same((await inbox.counts("a")).held, 1, "How many are held");
    },
  },
  {
    name: "discard() deletes a parked delivery, so that it is stored again when it comes again",
    async run({ inbox, act, make, put, add, work }) {
      for (const to of ["held", "dead"] as const) {
        const parts = { signature: to, body: "{}" };
        const id = await put(parts);
        await work("verify", valid);
        await work("handle", endedAs(to, "do_not_retry"));
        await act("discard", id);
        same(await inbox.get(id), null, "The discarded one");
        same((await inbox.counts("a"))[to], 0, `How many are ${to}`);
        const copy = await make(parts);
        same(await add(copy), { status: "added", id: copy.id }, "When it comes again");
        await work("verify", valid);
        await work("handle", handled);
      }
    },
  },
];
