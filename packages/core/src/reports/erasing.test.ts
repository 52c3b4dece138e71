import { askingSetUp } from "@reporthook/test-support/asking-setup";
import { turns } from "@reporthook/test-support/receiver-setup";
import {
  createInboxFixture,
  endedAs,
  handled,
  storedRequest,
  valid,
} from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import type { EraseQuery } from "../inbox/acts/act.ts";
import type { Inbox } from "../inbox/inbox.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import type { StoredRequest } from "../inbox/request-store.ts";
import { eraseReport } from "./erasing.ts";

const report = { domains: ["ada.example"] };
const asked = { context: { customer: "Ada" }, idempotencyKey: "ada@example.com:1" };

/** A receiver that asks for reports about somebody, and erases what it knows of them. */
function make() {
  const inbox = memoryInbox();
  const setup = askingSetUp({ inbox });
  setup.failWith(() => Response.json({ for: "Ada" }));
  const erase = (requestId: string) =>
    eraseReport(inbox, { requestId, now: setup.emulator.clock.now(), by: null });
  return { ...setup, erase };
}

/** An inbox in memory with requests that are made by hand, and deliveries about them. */
function makeStored(parts: Partial<Inbox> = {}) {
  const inbox = Object.assign(memoryInbox(), parts);
  const { put, work, clock } = createInboxFixture(inbox, 60_000);
  const remember = async (id: string, more: Partial<StoredRequest> = {}): Promise<void> => {
    const open = { state: "open", dueAt: 1, report, answer: null, brought: {} } as const;
    await inbox.requests?.add(storedRequest(id, { ...open, ...more }));
  };
  /** Has a delivery about a request and a report come, and end. */
  const deliver = async (requestId: string, reportId: string, end = handled): Promise<void> => {
    await put({ requestId });
    await work("verify", { ...valid, reportId });
    await work("handle", { ...end, reportId } as typeof end);
  };
  const erase = (query: Partial<EraseQuery>) =>
    eraseReport(inbox, { now: clock.now(), by: null, ...query });
  const erased = async (): Promise<string[]> => {
    const all = (await inbox.requests?.list({ limit: 10_000 })) ?? [];
    return all.filter(({ isErased }) => isErased).map(({ id }) => id);
  };
  return { inbox, remember, deliver, erase, erased };
}

describe("erasing a report", () => {
  it("eraseReport() erases the requests that are known to be of a report, or named by a delivery or the service's answer", async () => {
    const { remember, deliver, erase, erased } = makeStored();
    await remember("1", { reportId: "r-1" });
    await remember("2", { answer: { status: 201, body: { data: { report_id: "r-1" } } } });
    await remember("3", { reportId: "r-2" });
    await remember("4", { reportId: "r-3" });
    await remember("5", { answer: { status: 201, body: "r-1" } });
    await deliver("3", "r-1");
    await deliver("4", "r-3");
    const query = { reportId: "r-1" };
    expect(await erase({ ...query, dryRun: true })).toEqual({ deliveries: null, requests: 3 });
    expect(await erased()).toEqual([]);
    expect(await erase(query)).toEqual({ deliveries: null, requests: 3 });
    expect(await erased()).toEqual(["1", "2", "3"]);
    // The delivery still names the third.
    expect(await erase(query)).toEqual({ deliveries: null, requests: 0 });
    expect(await erase({ reportId: "r-9" })).toEqual({ deliveries: null, requests: 0 });
  });

  it("eraseReport() erases nothing of another receiver when one is named", async () => {
    const { remember, erase, erased } = makeStored();
    await remember("1", { reportId: "r-1" });
    await remember("2", { reportId: "r-1", receiver: "b" });
    expect(await erase({ requestId: "1", receiver: "b" })).toMatchObject({ requests: 0 });
    expect(await erase({ reportId: "r-1", receiver: "b" })).toMatchObject({ requests: 1 });
    expect(await erased()).toEqual(["2"]);
    expect(await erase({ reportId: "r-1" })).toMatchObject({ requests: 1 });
  });

  it("eraseReport() looks at all requests, however many there are", async () => {
    const { remember, erase, erased } = makeStored();
    const named = [0, 999, 1_000, 1_999, 2_000].map((number) => `${10_000 + number}`);
    for (let number = 0; number <= 2_000; number++) {
      const id = `${10_000 + number}`;
      await remember(id, named.includes(id) ? { reportId: "r-1" } : {});
    }
    expect(await erase({ reportId: "r-1" })).toMatchObject({ requests: named.length });
    expect(await erased()).toEqual(named);
  });

  it("eraseReport() looks among the parked deliveries alone when an inbox finds no others", async () => {
    const { guarantees } = memoryInbox();
    const { remember, deliver, erase, erased } = makeStored({
      guarantees: { ...guarantees, finds: "parked" },
    });
    for (const id of ["1", "2"]) await remember(id);
    await deliver("1", "r-1");
    await deliver("2", "r-1", endedAs("held", "no_handler"));
    expect(await erase({ reportId: "r-1" })).toEqual({ deliveries: null, requests: 1 });
    expect(await erased()).toEqual(["2"]);
  });

  it("eraseReport() has an inbox erase the deliveries of the report's requests, too, and tells how many", async () => {
    const queries: EraseQuery[] = [];
    const { remember, deliver, erase } = makeStored({
      erase: async (query) => queries.push(query),
    });
    for (const id of ["1", "2"]) await remember(id);
    await deliver("1", "r-1");
    const query = { reportId: "r-1", by: "ada@host", now: 5 };
    expect(await erase(query)).toEqual({ deliveries: 1, requests: 1 });
    // A delivery may have come after it.
    expect(await erase(query)).toEqual({ deliveries: 2, requests: 0 });
    const asked = { ...query, requestIds: ["1"] };
    expect(queries).toEqual([asked, asked]);
  });

  it("eraseReport() erases a request whose delivery is verified while others are erased, and its deliveries", async () => {
    const queries: EraseQuery[] = [];
    const { remember, deliver, erase, erased } = makeStored({
      async erase(query) {
        if (queries.push(query) === 1) await deliver("1", "r-1");
        return 1;
      },
    });
    for (const id of ["1", "2"]) await remember(id);
    expect(await erase({ reportId: "r-1" })).toEqual({ deliveries: 2, requests: 1 });
    expect(await erased()).toEqual(["1"]);
    expect(queries.map(({ requestIds }) => requestIds)).toEqual([[], ["1"]]);
  });

  it("eraseReport() erases the deliveries of an inbox that keeps no requests", async () => {
    const { erase } = makeStored({ requests: undefined, erase: async () => 7 });
    expect(await erase({ reportId: "r-1" })).toEqual({ deliveries: 7, requests: 0 });
    expect(await erase({ requestId: "1" })).toEqual({ deliveries: 7, requests: 0 });
  });
});

describe("erasing a request", () => {
  it("an erased request goes on, and no handler runs for its later notifications", async () => {
    const { emulator, reports, receiver, notify, erase, seen } = make();
    const { id } = await reports.request(report, asked);
    const late = await reports.request(report, { ...asked, idempotencyKey: "k", overdueMs: 1_000 });
    await erase(id);
    await erase(late.id);
    const waiting = reports.wait(id);
    await notify("complete");
    emulator.clock.advance(2_000);
    await receiver.idle();
    const record = { state: "complete", report: {}, context: null, answer: null, reportId: null };
    expect(await waiting).toMatchObject({ ...record, settledAt: expect.any(Date) });
    expect(await reports.get(late.id)).toMatchObject({ overdueAt: expect.any(Date), report: {} });
    expect(await reports.settle(late.id, "complete")).toBe(true);
    await receiver.idle();
    expect(seen).toEqual([]);
    const why = "no handler ran: the request was erased";
    const handled = { state: "handled", lastError: why };
    expect(await receiver.inbox.list()).toMatchObject([handled, handled, handled]);
  });

  it("an answer that comes after eraseReport() is not kept", async () => {
    const { reports, erase, hold } = make();
    const answer = hold();
    const asking = reports.request(report, asked);
    await turns();
    const [request] = await reports.list();
    await erase(request?.id ?? "");
    answer(Response.json({ for: "Ada" }));
    expect((await asking).answer).toMatchObject({ body: { for: "Ada" } });
    expect(await reports.get(request?.id ?? "")).toMatchObject({ state: "open", answer: null });
  });
});
