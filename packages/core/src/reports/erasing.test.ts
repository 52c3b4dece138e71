import { setUp, turns } from "@reporthook/test-support/receiver-setup";
import { describe, expect, it } from "vitest";
import { createClient } from "../client/client.ts";
import { memoryInbox } from "../inbox/memory/memory-inbox.ts";
import { eraseReport } from "./erasing.ts";

const url = "https://app.example/webhooks/reports";
const report = { domains: ["ada.example"] };
const asked = { context: { customer: "Ada" }, idempotencyKey: "ada@example.com:1" };

/** A receiver whose service answers requests when told, and whose notifications are sent by hand. */
function make() {
  const inbox = memoryInbox();
  const sent: string[] = [];
  let answer: Promise<Response> | null = null;
  const client = createClient({
    baseUrl: "https://service.example",
    apiKey: "key-that-nobody-may-see",
    fetch: async (address, init) => {
      if (!address.includes("request-report")) return new Response("");
      sent.push((JSON.parse(init.body ?? "{}") as { webhook_url: string }).webhook_url);
      return (await answer) ?? Response.json({ for: "Ada" });
    },
  });
  const callback = { secrets: ["0123456789abcdef0123456789abcdef"], url, require: true };
  const setup = setUp({ inbox, callback, client });
  setup.seeAll();
  const notify = async (status: string, at = 0): Promise<void> => {
    const body = JSON.stringify({ status, report_id: "r-1" });
    const headers = {
      "content-type": "application/json",
      "X-svc-authorization": `${status} ${at}`,
    };
    const request = new Request(sent[at] ?? "", { method: "POST", headers, body });
    expect((await setup.receiver.fetch(request)).status).toBe(200);
    await setup.receiver.idle();
  };
  const erase = (what: { reportId: string } | { requestId: string }, dryRun = false) =>
    eraseReport(inbox, { ...what, now: setup.emulator.clock.now(), by: null, dryRun });
  const answerWith = (given: Promise<Response>): void => {
    answer = given;
  };
  const { reports } = setup.receiver;
  return { ...setup, inbox, sent, notify, erase, answerWith, reports };
}

describe("erasing a request", () => {
  it("eraseReport() leaves id, state and dates of a request, counts it once, and frees its key", async () => {
    const { reports, inbox, erase, sent } = make();
    const { id } = await reports.request(report, asked);
    const before = await reports.get(id);
    expect(await erase({ requestId: id }, true)).toEqual({ deliveries: null, requests: 1 });
    expect(await reports.get(id)).toEqual(before);
    expect(await erase({ requestId: id })).toEqual({ deliveries: null, requests: 1 });
    expect(await erase({ requestId: id })).toEqual({ deliveries: null, requests: 0 });
    const nothing = { report: {}, context: null, idempotencyKey: null, answer: null };
    expect(await reports.get(id)).toEqual({ ...before, ...nothing });
    expect(JSON.stringify(await inbox.requests?.get(id))).not.toMatch(/ada/i);
    expect(await reports.counts()).toMatchObject({ open: 1 });
    expect((await reports.request(report, asked)).id).not.toBe(id);
    expect(sent).toHaveLength(2);
  });

  it("an erased request goes on, and no handler runs for its later notifications", async () => {
    const { emulator, reports, receiver, notify, erase, seen } = make();
    const { id } = await reports.request(report, asked);
    const late = await reports.request(report, { ...asked, idempotencyKey: "k", overdueMs: 1_000 });
    await erase({ requestId: id });
    await erase({ requestId: late.id });
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
    const { reports, erase, answerWith } = make();
    let answer = (_: Response): void => {};
    answerWith(new Promise((resolve) => (answer = resolve)));
    const asking = reports.request(report, asked);
    await turns();
    const [request] = await reports.list();
    await erase({ requestId: request?.id ?? "" });
    answer(Response.json({ for: "Ada" }));
    expect((await asking).answer).toMatchObject({ body: { for: "Ada" } });
    expect(await reports.get(request?.id ?? "")).toMatchObject({ state: "open", answer: null });
  });
});
