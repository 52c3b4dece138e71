import type { Inbox, RequestStore, StoredRequest } from "@reporthook/core";
import { same, truly } from "../assert.ts";
import { handled, type InboxCase, valid } from "./fixture.ts";

const day = 86_400_000;
const later = { confirmedAt: null, processingAt: null, settledAt: null, overdueAt: null };
const dates = { requestedAt: 1, dueAt: 1_000, ...later };
const told = { dates: { ...dates, overdueAt: 1 } };

function storeOf({ requests }: Inbox): RequestStore {
  if (requests === undefined) throw new Error("The inbox keeps no requests");
  return requests;
}

/** Makes a request as a store keeps it, with the given parts. */
export function storedRequest(id: string, parts: Partial<StoredRequest> = {}): StoredRequest {
  return {
    id,
    receiver: "a",
    idempotencyKey: null,
    state: "unconfirmed",
    dueAt: 1_000,
    settledAt: null,
    version: 0,
    report: { domains: ["é"] },
    context: '{"c":"é"}',
    reportId: null,
    answer: { status: 201, body: { é: "\u0000 '" } },
    dates,
    brought: { "report.complete": { by: "1", done: false } },
    ...parts,
  };
}

const next = (one: StoredRequest, parts: Partial<StoredRequest>): StoredRequest => ({
  ...one,
  version: one.version + 1,
  ...parts,
});

const none = { unconfirmed: 0, open: 0, complete: 0, internal_error: 0, overdue: 0 };

/** The promises of an inbox that keeps requests. */
export const requests: readonly InboxCase[] = [
  {
    name: "requests.add() stores a request once for its key and receiver, and get() finds it",
    needs: ["requests"],
    async run({ inbox }) {
      const store = storeOf(inbox);
      const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      const first = storedRequest("1", { idempotencyKey: "k ' 1", traceparent });
      same(await store.add(first), null, "The first");
      same(await store.add(storedRequest("2", { idempotencyKey: "k ' 1" })), first, "The same key");
      same(
        await store.add(storedRequest("3", { receiver: "b", idempotencyKey: "k ' 1" })),
        null,
        "Of b",
      );
      same(await store.add(storedRequest("4")), null, "Without a key");
      same(await store.add(storedRequest("5")), null, "Another without");
      same(await store.get("1", "a"), first, "By its id");
      Object.assign((await store.get("1", "a"))?.report ?? {}, { domains: [] });
      same(
        await store.get("1"),
        first,
        "Whosever it is, and whatever is done with one that was read",
      );
      same(await store.get("1", "b"), null, "Of another receiver");
      same(await store.get("2"), null, "It was not stored");
      const all = await Promise.all(
        [6, 7, 8, 9].map((id) => store.add(storedRequest(String(id), { idempotencyKey: "l" }))),
      );
      same(all.filter((one) => one === null).length, 1, "How many of four at once are stored");
    },
  },
  {
    name: "requests.replace() changes a request only as it was read, and null frees its key",
    needs: ["requests"],
    async run({ inbox }) {
      const store = storeOf(inbox);
      const first = storedRequest("1", { idempotencyKey: "k" });
      await store.add(first);
      const open = next(first, { state: "open", reportId: "r" });
      same(await store.replace(first, open), true, "As it was read");
      same(await store.replace(first, next(first, { state: "complete" })), false, "It has changed");
      same(await store.replace(first, null), false, "It has changed, too");
      same(await store.get("1"), open, "The request");
      same(await store.add(storedRequest("2", { idempotencyKey: "k" })), open, "Its key");
      const both = ["1", "2"].map((reportId) => next(open, { reportId }));
      const results = await Promise.all(both.map((one) => store.replace(open, one)));
      same(results.filter(Boolean).length, 1, "How many of two at once are stored");
      const last = await store.get("1");
      if (last === null) throw new Error("The request is gone");
      same(await store.replace(last, null), true, "Deleted");
      same(await store.get("1"), null, "What was deleted");
      same(await store.replace(last, next(last, {})), false, "What is no more");
      const second = storedRequest("2", { idempotencyKey: "k" });
      same(await store.add(second), null, "The key is free");
      same(await store.replace(second, next(second, { idempotencyKey: null })), true, "No key");
      same(
        await store.add(storedRequest("3", { idempotencyKey: "k" })),
        null,
        "The key is free again",
      );
      same(await store.counts("a"), { ...none, unconfirmed: 2 }, "The counts");
    },
  },
  {
    name: "requests.list() and counts() go by state and receiver, in the order asked for",
    needs: ["requests"],
    async run({ inbox }) {
      const store = storeOf(inbox);
      const settled = { settledAt: 5, ...told };
      for (const one of [
        storedRequest("4", { state: "open", ...told }),
        storedRequest("2", { state: "open" }),
        storedRequest("3", { state: "complete", ...settled }),
        storedRequest("1", told),
        storedRequest("5", { state: "internal_error", settledAt: 6 }),
        storedRequest("6", { receiver: "b", state: "open", ...told }),
      ]) {
        await store.add(one);
      }
      const found = async (query: Omit<Parameters<typeof store.list>[0], "limit">, limit = 100) =>
        (await store.list({ ...query, limit })).map(({ id }) => id).join("");
      same(await found({ receiver: "a" }), "12345", "All of a");
      same(await found({}), "123456", "All");
      same(await found({ receiver: "a" }, 2), "12", "A page");
      same(await found({ receiver: "a", after: "2" }, 2), "34", "The next page");
      same(await found({ receiver: "a" }, Number.POSITIVE_INFINITY), "12345", "Without a limit");
      same(await found({ receiver: "a", state: "open" }), "24", "By state");
      same(await found({ receiver: "a", state: "overdue" }), "14", "Those overdue");
      same(await found({ state: "overdue", after: "1" }), "46", "Those overdue, of all");
      same(await found({ newestFirst: true }, 4), "6543", "All, the newest first");
      const next = { newestFirst: true, after: "3" };
      same(await found({ receiver: "a", ...next }), "21", "Older ones");
      same(await found({ state: "open", ...next }), "2", "Older ones by state");
      same(await found({ receiver: "c" }), "", "Of nobody");
      const counts = { unconfirmed: 1, open: 2, complete: 1, internal_error: 1, overdue: 2 };
      same(await store.counts("a"), counts, "The counts of a");
      same(await store.counts(), { ...counts, open: 3, overdue: 3 }, "The counts of all");
      same(await store.counts("c"), none, "The counts of nobody");
    },
  },
  {
    name: "requests.due() finds requests that are due, neither settled nor told, the first due first",
    needs: ["requests"],
    async run({ inbox }) {
      const store = storeOf(inbox);
      for (const one of [
        storedRequest("1", { dueAt: 300 }),
        storedRequest("2", { dueAt: 100 }),
        storedRequest("3", { dueAt: 200, state: "open" }),
        storedRequest("4", { dueAt: 50, ...told }),
        storedRequest("5", { dueAt: 50, state: "complete", settledAt: 1 }),
        storedRequest("6", { dueAt: 50, receiver: "b" }),
        storedRequest("7", { dueAt: 400 }),
      ]) {
        await store.add(one);
      }
      const due = async (until: number, limit = 100) =>
        (await store.due("a", until, limit)).map(({ id }) => id).join("");
      same(await due(300), "231", "Those due");
      same(await due(300, 2), "23", "The first two");
      same(await due(99), "", "Before the first");
      const first = await store.get("2");
      if (first !== null) await store.replace(first, next(first, told));
      same(await due(300), "31", "Without the one that was told");
    },
  },
  {
    name: "prune() deletes settled requests like handled deliveries, others 30 days after they were told",
    needs: ["requests", "clock"],
    async run({ inbox, clock, put, work }) {
      const store = storeOf(inbox);
      const now = clock.now();
      const requestId = "0";
      const settled = { state: "complete", settledAt: now } as const;
      for (const one of [
        storedRequest(requestId, settled),
        storedRequest("1", { ...settled, idempotencyKey: "k" }),
        storedRequest("2", { dueAt: now, ...told }),
        storedRequest("3", { dueAt: now }),
      ]) {
        await store.add(one);
      }
      const left = async (at: number) => {
        await inbox.prune(new Date(at), { dryRun: true });
        await inbox.prune(new Date(at));
        return (await store.list({ limit: 10 })).map(({ id }) => id).join("");
      };
      await put({ requestId });
      same(await left(now + 7 * day), "0123", "After 7 days");
      same(await left(now + 7 * day + 1), "023", "After more: one has a delivery");
      same(await store.add(storedRequest("9", { idempotencyKey: "k", ...told })), null, "Its key");
      await work("verify", valid);
      await work("handle", handled);
      clock.advance(30 * day);
      same(await left(clock.now()), "23", "Without its delivery");
      same(await left(now + 30 * day + 1), "3", "30 days after it was due");
      same(await left(now + 300 * day), "3", "One that nobody was told of stays");
    },
  },
  {
    name: "add() keeps a delivery of the receiver itself: verified, of a request, without a signature",
    needs: ["requests"],
    async run({ inbox, make, add, work }) {
      const type = "report.overdue";
      const given = await make({ requestId: "q-1", signature: null, body: "" });
      const key = new Uint8Array(24).fill(7);
      const arrival = { to: "verified", verification: null, type, reportId: null } as const;
      await add({ ...given, key }, { arrival });
      const again = await make({ requestId: "q-1", signature: null, body: "" });
      const { id } = given;
      same(await add({ ...again, key }, { arrival }), { status: "duplicate", id }, "The same key");
      const settled = { to: "verified", verification: "settled", reportId: "r" } as const;
      const other = await make({ requestId: "q-2", signature: null });
      await add(
        { ...other, key: new Uint8Array(24).fill(8) },
        { arrival: { ...settled, type: "report.complete" } },
      );
      const jobs = await work("handle", handled, handled);
      const seen = jobs.map((job) => [job.requestId, job.type, job.verification, job.released]);
      seen.sort();
      const expected = [
        ["q-1", type, null, false],
        ["q-2", "report.complete", "settled", false],
      ];
      same(seen, expected, "The jobs");
      truly((await inbox.get(id))?.state === "handled", "it is handled");
    },
  },
];
