import { noBacklog } from "@reporthook/core/store";
import { same, truly } from "../assert.ts";
import { unsignedTest } from "./acts/retaining.ts";
import { handled, type InboxCase, valid } from "./fixture.ts";

/** The promises of `add`. */
export const adding: readonly InboxCase[] = [
  {
    name: "the guarantees are those the suite was told, and open() can be called twice",
    async run({ inbox }) {
      await inbox.open();
      await inbox.open();
      same(await inbox.health(), { ok: true }, "Health");
      truly(inbox.identity !== undefined, "it has an identity");
    },
  },
  {
    name: "add() stores a delivery so that get(), list() and counts() show it at once",
    async run({ inbox, make, add }) {
      const url = "/hook?a='%22;--";
      const parts = { body: '{"a":"é\u{1f600}"}', url, context: '{"c":[1]}', requestId: "q-1" };
      const delivery = await make(parts);
      const { id } = delivery;
      same(await add(delivery), { status: "added", id }, "What add() answered");
      const entry = {
        id,
        state: "received",
        reason: null,
        type: null,
        reportId: null,
        attempts: 0,
        receivedAt: new Date(delivery.receivedAt),
        nextAttemptAt: new Date(delivery.receivedAt),
        changedAt: new Date(delivery.receivedAt),
        lastError: null,
        error: null,
        requestId: "q-1",
      };
      same(await inbox.list(), [entry], "The list");
      const { headers } = delivery;
      const body = '{"a":"é\u{1f600}"}';
      const more = { url, context: { c: [1] }, verification: null, history: [] };
      const details = { ...entry, headers, body, ...more };
      same(await inbox.get(id), details, "The entry");
      const counts = { received: 1, verified: 0, handled: 0, held: 0, rejected: 0, dead: 0 };
      same(await inbox.counts("a"), counts, "The counts");
      same(await inbox.counts(), counts, "The counts of all receivers");
    },
  },
  {
    name: "add() keeps url, context, headers, signature and the exact bytes for the work",
    async run({ make, add, work }) {
      const bytes = Uint8Array.from({ length: 200_000 }, (_, index) => index % 256);
      const delivery = await make({ body: bytes, url: "/hook?a='%22;--", context: '{"a":"é"}' });
      const empty = await make({ body: "" });
      await add(delivery);
      const [job] = await work("verify", valid);
      await add(empty);
      const [second] = await work("verify", valid);
      same(job?.body.length, bytes.length, "How many bytes");
      const isSame = job?.body.every((byte, index) => byte === bytes[index]);
      same(isSame, true, "Whether they are the same bytes");
      const { id, receivedAt, url, headers, signature } = delivery;
      same(
        [job?.id, Number(job?.receivedAt), job?.url, job?.headers, job?.signature],
        [id, receivedAt, url, headers, signature],
        "The job",
      );
      same([job?.context, second?.context], ['{"a":"é"}', null], "The contexts");
      same(job?.stage, "verify", "The stage");
      same(second?.body.length, 0, "An empty body");
    },
  },
  {
    name: "add() begins where it is told to",
    async run({ inbox, put, work }) {
      const test = await put(unsignedTest);
      const held = await put({
        signature: null,
        arrival: {
          to: "held",
          verification: "unsigned",
          type: "report.complete",
          reportId: "7",
          reason: { code: "unsigned", message: "It came without a signature." },
        },
      });
      const load = { ...noBacklog, waiting: 1, unsignedWaiting: 1, unsignedHeld: 1 };
      same(inbox.backlog("a"), load, "The load");
      const [job] = await work("handle", handled);
      same(
        [job?.id, job?.type, job?.verification, job?.signature, job?.released],
        [test, "test_webhook_endpoint", "unsigned", null, false],
        "The job",
      );
      const entry = await inbox.get(held);
      same(
        [entry?.state, entry?.reason?.code, entry?.verification, entry?.type, entry?.reportId],
        ["held", "unsigned", "unsigned", "report.complete", "7"],
        "What is held",
      );
      same(entry?.nextAttemptAt, null, "The next attempt of what is held");
    },
  },
  {
    name: "add() keeps the state of an authorize call that came before it, for its delivery alone",
    async run({ inbox, put, work }) {
      const before = await put();
      const asked = await put({ arrival: { to: "received", retryState: '{"asked":true}' } });
      const after = await put();
      const load = { ...noBacklog, waiting: 3, unverified: 3 };
      same(inbox.backlog("a"), load, "The load");
      const jobs = await work("verify", valid, valid, valid);
      const states = Object.fromEntries(jobs.map(({ id, retryState }) => [id, retryState]));
      same(
        states,
        { [before]: null, [asked]: '{"asked":true}', [after]: null },
        "What the work is told",
      );
    },
  },
  {
    name: "add() stores every unsigned delivery",
    async run({ inbox, put }) {
      const parts = { ...unsignedTest, body: "{}" };
      await put(parts);
      await put(parts);
      same((await inbox.counts("a")).verified, 2, "How many are stored");
    },
  },
  {
    name: "close() keeps stored deliveries and their keys until the inbox is opened again",
    async run({ inbox, make, add }) {
      const first = await make({ signature: "s", body: "1" });
      await add(first);
      await inbox.close();
      await inbox.close();
      await inbox.open();
      same((await inbox.get(first.id))?.state, "received", "What was stored before");
      same(
        await add(await make({ signature: "s", body: "1" })),
        { status: "duplicate", id: first.id },
        "The same again",
      );
      same((await add(await make({ signature: "s", body: "2" }))).status, "added", "Another one");
    },
  },
];
