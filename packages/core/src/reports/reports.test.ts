import { setUp, turns } from "@reporthook/test-support/receiver-setup";
import { expect, it } from "vitest";
import { createClient } from "../client/client.ts";
import type { ReceiverOptions } from "../options/receiver-options.ts";

const secret = "0123456789abcdef0123456789abcdef";
const url = "https://app.example/webhooks/reports";
const report = { domains: ["example.com"] };
const day = 86_400_000;

function make(options: Partial<ReceiverOptions> = {}) {
  const sent: string[] = [];
  let fail: Response | Error | null = null;
  const answer = { status: 201, body: { accepted: true } };
  const setup = setUp({
    callback: { secrets: [secret], url },
    client: createClient({
      baseUrl: "https://service.example",
      apiKey: "key-that-nobody-may-see",
      fetch: async (address, init) => {
        if (!address.includes("request-report")) return new Response("{}");
        sent.push((JSON.parse(init.body ?? "{}") as { webhook_url: string }).webhook_url);
        if (fail instanceof Error) throw fail;
        return fail ?? Response.json({ ...answer.body, echo: init.body }, { status: 201 });
      },
    }),
    ...options,
  });
  setup.seeAll();
  const notify = async (at: string, status: string, more: object = {}) => {
    const body = JSON.stringify({ status, report_id: "r-1", ...more });
    const headers = {
      "X-svc-authorization": `s ${Math.random()}`,
      "content-type": "application/json",
    };
    const response = await setup.receiver.fetch(new Request(at, { method: "POST", headers, body }));
    return ((await response.json()) as { id: string }).id;
  };
  return {
    ...setup,
    sent,
    notify,
    failWith: (how: Response | Error | null) => {
      fail = how;
    },
  };
}

it("request() sends a token of the request, and its events have its context and id", async () => {
  const { receiver, sent, notify, seen } = make();
  const { id, answer } = await receiver.reports.request(report, { context: { customer: "c-1" } });
  expect(answer?.status).toBe(201);
  expect(JSON.stringify(answer)).not.toContain(
    new URL(sent[0] ?? "").searchParams.get("callback_token"),
  );
  expect(await receiver.reports.get(id)).toMatchObject({
    state: "open",
    report,
    context: { customer: "c-1" },
  });
  await notify(sent[0] ?? "", "processing");
  await notify(sent[0] ?? "", "complete");
  await receiver.idle();
  expect(seen).toMatchObject([
    { type: "report.processing", requestId: id, context: { customer: "c-1" } },
    { type: "report.complete", requestId: id, context: { customer: "c-1" }, reportId: "r-1" },
  ]);
  expect(await receiver.reports.wait(id)).toMatchObject({ state: "complete", reportId: "r-1" });
  await notify(sent[0] ?? "", "complete");
  await notify(sent[0] ?? "", "processing");
  await receiver.idle();
  expect(seen).toHaveLength(2);
  await notify(sent[0] ?? "", "internal_error");
  await receiver.idle();
  expect(seen).toHaveLength(3);
  expect(await receiver.reports.counts()).toEqual({
    unconfirmed: 0,
    open: 0,
    complete: 1,
    internal_error: 0,
    overdue: 0,
  });
});

it("report.overdue comes once for a request that is due", async () => {
  const { emulator, receiver, seen, sent, notify } = make();
  await receiver.start();
  const { id } = await receiver.reports.request(report);
  emulator.clock.advance(day);
  await receiver.idle();
  expect(seen).toMatchObject([
    {
      type: "report.overdue",
      requestId: id,
      confirmed: true,
      lastStatus: null,
      body: null,
      verification: null,
    },
  ]);
  expect(await receiver.reports.list({ state: "overdue" })).toMatchObject([
    { id, overdueAt: expect.any(Date) },
  ]);
  emulator.clock.advance(day);
  await receiver.idle();
  expect(seen).toHaveLength(1);
  await notify(sent[0] ?? "", "complete");
  await receiver.idle();
  expect(seen).toHaveLength(2);
  expect(await receiver.reports.list({ state: "overdue" })).toEqual([]);
});

it("settle() runs the handlers once", async () => {
  const { receiver, seen, sent, notify } = make();
  const { id } = await receiver.reports.request(report, { context: 1 });
  expect(await receiver.reports.settle(id, "complete", { body: { x: 1 } })).toBe(true);
  expect(await receiver.reports.settle(id, "complete")).toBe(false);
  await notify(sent[0] ?? "", "complete");
  await receiver.idle();
  expect(seen).toMatchObject([
    {
      type: "report.complete",
      status: "complete",
      verification: "settled",
      requestId: id,
      context: 1,
      body: { x: 1 },
    },
  ]);
});

it("request() with a key is sent once, and again with resend", async () => {
  const { receiver, sent, failWith } = make();
  failWith(new Response("no", { status: 500 }));
  const failed = await receiver.reports
    .request(report, { idempotencyKey: "k" })
    .catch((error: unknown) => error);
  expect(failed).toMatchObject({
    code: "service_failed",
    retryable: false,
    requestId: expect.any(String),
  });
  failWith(null);
  expect(await receiver.reports.request(report, { idempotencyKey: "k" })).toMatchObject({
    answer: null,
  });
  const again = await receiver.reports.request(report, { idempotencyKey: "k", resend: true });
  expect(again.answer?.status).toBe(201);
  expect(sent[1]).toBe(sent[0]);
  expect(sent).toHaveLength(2);
  await expect(
    receiver.reports.request({ domains: ["b.example"] }, { idempotencyKey: "k" }),
  ).rejects.toMatchObject({ code: "idempotency_key_reused" });
  failWith(new Response("no", { status: 400 }));
  await expect(receiver.reports.request(report, { idempotencyKey: "l" })).rejects.toMatchObject({
    code: "service_failed",
  });
  expect(await receiver.reports.list()).toHaveLength(1);
  await turns();
});
