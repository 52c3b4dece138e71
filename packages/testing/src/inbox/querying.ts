import type { InboxQuery } from "@reporthook/core";
import { states } from "@reporthook/core/store";
import { rejects, same } from "../assert.ts";
import { oneInEachState } from "./acts/retaining.ts";
import { endedAs, handled, type InboxCase, type InboxFixture, later, valid } from "./fixture.ts";

const minute = 60_000;

/** The promises of `list`, `summary` and of a retry. */
export const querying: readonly InboxCase[] = [
  {
    name: "list() goes page by page from the newest, when told",
    async run({ inbox, put }) {
      const ids: string[] = [];
      for (let count = 0; count < 7; count++) ids.push(await put());
      const pages: string[] = [];
      for (let count = 0; count < 4; count++) {
        const after = pages.at(-1);
        const query = { newestFirst: true, limit: 3, ...(after !== undefined && { after }) };
        pages.push(...(await inbox.list(query)).map(({ id }) => id));
      }
      same(pages, ids.toReversed(), "All pages");
      const states = await inbox.list({ newestFirst: true, state: "received", limit: 1 });
      same(states[0]?.id, ids.at(-1), "The newest of a state");
    },
  },
  {
    name: "list() chooses by event, report, request and reason, together with the state",
    needs: ["search"],
    async run({ inbox, put, work }) {
      const requestId = "q-1";
      const ids = [await put({ requestId }), await put(), await put({ requestId }), await put()];
      const processing = { type: "report.processing", reportId: "r-2" } as const;
      await work("verify", valid, { ...valid, ...processing }, valid, {
        ...valid,
        type: "unknown",
        reportId: null,
      });
      await work(
        "handle",
        handled,
        endedAs("dead", "do_not_retry"),
        endedAs("dead", "attempts_used_up"),
        endedAs("held", "no_handler"),
      );
      const found = async (query: InboxQuery): Promise<(number | undefined)[]> =>
        (await inbox.list({ receiver: "a", ...query })).map(({ id }) => ids.indexOf(id));
      same(await found({ type: "report.complete" }), [0, 2], "By event");
      same(await found({ type: "report.complete", state: "dead" }), [2], "By event and state");
      same(await found({ type: "report.complete", state: "handled" }), [0], "Handled ones");
      same(await found({ reportId: "r-1" }), [0, 2], "By report");
      same(await found({ reportId: "r-1", type: "report.processing" }), [], "Of another event");
      same(await found({ reportId: "r-2", state: "parked" }), [1], "By report, parked");
      same(await found({ requestId }), [0, 2], "By request");
      same(await found({ requestId, state: "dead" }), [2], "By request and state");
      same(await found({ requestId: "q-2" }), [], "By another request");
      same(await found({ reason: "no_handler" }), [3], "By reason");
      same(await found({ reason: "do_not_retry", state: "held" }), [], "In another state");
      same(await found({ reason: "do_not_retry", type: "report.processing" }), [1], "And event");
      same(await found({ type: "unknown", state: "parked" }), [3], "By event, parked");
      same(await found({ type: "test_webhook_endpoint" }), [], "Of which there is none");
      same((await inbox.list({ receiver: "b", reportId: "r-1" })).length, 0, "Of another receiver");
    },
  },
  {
    name: "list() chooses by time of receipt and by the beginning of the id",
    async run(fixture) {
      const { inbox, clock } = fixture;
      const now = clock.now();
      const ids = [];
      for (const ago of [3, 2, 1]) ids.push(await addAt(fixture, now - ago * minute));
      const [first = "", second = "", third = ""] = ids;
      const found = async (query: InboxQuery): Promise<string[]> =>
        (await inbox.list(query)).map(({ id }) => id);
      const at = (ago: number): Date => new Date(now - ago * minute);
      same(await found({ from: at(2) }), [second, third], "From a moment on");
      same(await found({ until: at(2) }), [first], "Before a moment");
      same(await found({ from: at(2), until: at(1) }), [second], "Between two");
      same(await found({ from: at(0) }), [], "After all");
      same(await found({ from: at(2), after: second }), [third], "The next page");
      same(await found({ until: at(1), after: second, newestFirst: true }), [first], "Backwards");
      same(await found({ idPrefix: second }), [second], "By the whole id");
      same(await found({ idPrefix: second.slice(0, 10) }), [second], "By its beginning");
      same(await found({ idPrefix: "zzz" }), [], "By another's");
      same(await found({ idPrefix: second, from: at(1) }), [], "By both");
    },
  },
  {
    name: "summary() counts parked deliveries by reason, and tells the oldest of each state but handled",
    async run(fixture) {
      const { inbox, put, work } = fixture;
      const query = { receiver: "a", from: new Date(0), until: new Date(0) };
      const nothing = Object.fromEntries(states.map((state) => [state, null]));
      const empty = { parked: {}, parkedChangedAt: null, oldest: nothing, minutes: [] };
      same(await inbox.summary(query), empty, "Of nothing");
      const { held } = await oneInEachState(fixture);
      const rest = [await put(), await put(), await put()];
      await work(
        "verify",
        endedAs("rejected", "expired"),
        endedAs("held", "expired"),
        valid,
        valid,
      );
      await work("handle", endedAs("dead", "do_not_retry"), endedAs("dead", "do_not_retry"));
      const { parked, parkedChangedAt, oldest } = await inbox.summary(query);
      const times = (await inbox.list({ state: "parked" })).map(({ changedAt }) =>
        Number(changedAt),
      );
      same(parkedChangedAt, new Date(Math.max(...times)), "When one changed last");
      same(
        parked,
        { expired: 1, no_handler: 1, do_not_retry: 3 },
        `Those parked, of ${rest.length}`,
      );
      same(oldest.held, (await inbox.get(held))?.receivedAt, "The oldest held one");
      same(oldest.received, null, "The oldest received one");
      same((await inbox.summary({ ...query, receiver: "b" })).parked, {}, "Those of another");
    },
  },
  {
    name: "summary() counts the deliveries received in each minute, by state, and tells the oldest of all times",
    async run(fixture) {
      const { inbox, work } = fixture;
      const begin = 30_000_000 * minute;
      await addAt(fixture, begin - 1);
      await addAt(fixture, begin);
      await work("verify", valid, valid);
      for (const ms of [2 * minute, 1, minute - 1, minute, 3 * minute]) {
        await addAt(fixture, begin + ms);
      }
      const span = { from: new Date(begin), until: new Date(begin + 3 * minute) };
      const { minutes, oldest } = await inbox.summary({ receiver: "a", ...span });
      const none = { received: 0, verified: 0, handled: 0, held: 0, rejected: 0, dead: 0 };
      same(
        minutes,
        [
          { at: new Date(begin), counts: { ...none, received: 2, verified: 1 } },
          { at: new Date(begin + minute), counts: { ...none, received: 1 } },
          { at: new Date(begin + 2 * minute), counts: { ...none, received: 1 } },
        ],
        "The minutes",
      );
      same(oldest.received, new Date(begin + 1), "The oldest received one");
      same((await inbox.summary({ receiver: "b", ...span })).minutes, [], "Those of another");
    },
  },
  {
    name: "retry() makes the next attempt of a waiting delivery due immediately, and goes on counting its attempts",
    async run(fixture) {
      const { inbox, act, put, work, consume, until } = fixture;
      const id = await put();
      const retry = (of: string, receiver = "a") => act("retry", of, { receiver });
      await rejects(retry(id), "not_releasable");
      await work("verify", later(3_600_000));
      same(await retry(id), 1, "How many wait for a verdict");
      await work("verify", valid);
      await work("handle", later(3_600_000, { error: "away" }));
      await rejects(retry(id, "b"), "not_found");
      same(await retry(id), 1, "How many wait to be handled");
      same((await inbox.get(id))?.lastError, "away", "What it failed with");
      const [job] = await work("handle", handled);
      same([job?.id, job?.attempts, job?.released], [id, 1, false], "The job");
      await rejects(retry(id), "not_releasable");
      const running = await put({ receiver: "c" });
      const { jobs } = consume("verify", () => new Promise(() => {}), { receiver: "c" });
      await until(() => jobs.length === 1, "it runs");
      await rejects(retry(running, "c"), "not_releasable");
      await rejects(retry("no such id"), "not_found");
    },
  },
];

/** Adds a delivery that was received at this moment; resolves to its id. */
async function addAt({ make, add }: InboxFixture, at: number): Promise<string> {
  const delivery = await make({ at });
  same((await add(delivery)).status, "added", "What add() answered");
  return delivery.id;
}
