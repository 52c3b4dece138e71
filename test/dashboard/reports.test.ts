import { createReceiver, type Inbox, memoryInbox } from "@reporthook/core";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import {
  dashboardMessages,
  type WireReportOne,
  type WireReports,
} from "@reporthook/dashboard/internals";
import { describe, expect, it } from "vitest";
import { appOnStage } from "./stage/app-on-stage.ts";
import { focused, rows, settled } from "./stage/look.ts";
import { onStage, test } from "./stage/on-stage.ts";
import { askForReports } from "./stage/scene.ts";

const ada = { name: "Ada", may: "act" } as const;
const hostile = {
  customer: "<img src=x onerror=alert(1)>",
  note: "\u202egnp.exe\u0007",
  token: "hush-1",
};

/** The answer of a dashboard to its page. */
async function ask(url: string, method = "GET") {
  const headers = { "x-reporthook": "1", "sec-fetch-site": "same-origin" };
  const answer = await fetch(url, { method, headers });
  const data = (await answer.json()) as WireReports & WireReportOne;
  return { status: answer.status, data };
}

describe("requests", () => {
  it("the dashboard lists reports by how far they are, newest first, with their counts", async () => {
    const stage = await appOnStage();
    const ids = await askForReports(stage);
    const { complete, internal_error, open, overdue, unconfirmed } = ids;
    const list = async (query: string): Promise<string[]> => {
      const { data } = await ask(`${stage.url}api/reports?${query}`);
      const counts = { unconfirmed: 1, open: 2, complete: 1, internal_error: 1, overdue: 1 };
      expect(data).toMatchObject({ more: false, reports: counts });
      return data.entries.map(({ id }) => id);
    };
    expect(await list("of=open")).toEqual([unconfirmed, overdue, open]);
    expect(await list("of=constructor")).toEqual([unconfirmed, overdue, open]);
    expect(await list(`of=open&after=${overdue}`)).toEqual([open]);
    expect(await list("of=overdue")).toEqual([overdue]);
    expect(await list("of=done")).toEqual([internal_error, complete]);
  });

  it("the dashboard shows a report with its deliveries, and neither the API key nor a token", async () => {
    const { url, emulator, receiver } = await appOnStage();
    const { reports } = receiver;
    const options = { context: hostile, idempotencyKey: "c-1:q3" };
    const { id } = await reports.request({ domains: ["example.com"] }, options);
    const webhookUrl = emulator.reports.list()[0]?.webhookUrl ?? "";
    emulator.reports.setStatus(emulator.reports.list()[0]?.id ?? "", "complete");
    await reports.wait(id);
    await receiver.idle({ timeoutMs: 60_000 });
    const { data } = await ask(`${url}api/reports/${id}`);
    expect(data).toMatchObject({
      report: { id, state: "complete", idempotencyKey: "c-1:q3" },
      deliveries: [{ type: "report.processing" }, { type: "report.complete" }],
    });
    expect(JSON.parse(data.report?.report ?? "")).toEqual({ domains: ["example.com"] });
    expect(JSON.parse(data.report?.context ?? "")).toEqual({ ...hostile, token: "[removed]" });
    expect(data.report?.context).toContain("\\u202egnp.exe\\u0007");
    const pages = [`reports/${id}`, "reports?of=done", `deliveries/${data.deliveries?.[0]?.id}`];
    const secrets = ["hush-1", emulator.clientOptions.apiKey, webhookUrl.split("=").at(-1) ?? ""];
    for (const path of pages) {
      const text = JSON.stringify((await ask(`${url}api/${path}`)).data);
      for (const secret of secrets) expect(text, path).not.toContain(secret);
    }
    expect((await ask(`${url}api/reports/none`)).data).toMatchObject({ report: null });
  });

  it("the dashboard settles a report once, for a person who may act, and logs who did it", async () => {
    const stage = await appOnStage({
      authorize: ({ headers }) => (headers.has("x-bob") ? { ...ada, may: "view" } : ada),
    });
    const { receiver, url, logged } = stage;
    const { overdue } = await askForReports(stage);
    const settle = (query: string, id = overdue) =>
      ask(`${url}api/reports/${id}/settle?${query}`, "POST");
    expect((await settle("status=open")).status).toBe(400);
    expect((await settle("status=complete", "none")).status).toBe(404);
    expect((await ask(`${url}api/reports/${overdue}/settle?status=complete`)).status).toBe(405);
    const address = `${url}api/reports/${overdue}/settle?status=complete`;
    const sameSite = { "sec-fetch-site": "same-origin", "x-reporthook": "1" };
    for (const headers of [
      { "x-reporthook": "1", "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-origin" },
      { ...sameSite, "x-bob": "1" },
    ]) {
      expect((await fetch(address, { method: "POST", headers })).status).toBe(403);
    }
    expect((await receiver.reports.get(overdue))?.state).toBe("open");
    expect((await settle("status=complete")).data).toEqual({ done: 1 });
    expect((await settle("status=internal_error")).data).toEqual({ done: 0 });
    expect((await receiver.reports.get(overdue))?.state).toBe("complete");
    const message = dashboardMessages.settle;
    expect(logged).toEqual([
      { receiver: "reports", by: "Ada", id: overdue, status: "complete", message },
    ]);
  });

  it("the dashboard shows the reports of an inbox without its receiver, and of one that keeps none", async () => {
    const inbox = memoryInbox();
    const client = { authorize: async () => "valid" as const };
    const requestReport = async () => ({ status: 200, body: null });
    const receiver = createReceiver({
      client: { ...client, requestReport },
      inbox,
      logger: false,
      callback: { secrets: ["s".repeat(44)], url: "https://app.example/hook" },
    });
    const { id } = await receiver.reports.request({ domains: ["example.com"] }, { context: "c-1" });
    const read = async (shown: Inbox, path: string) => {
      const page = dashboard(ofInbox(shown), { logger: false });
      const answer = await page(new Request(`http://localhost/api/${path}`), { peer: "::1" });
      return answer.json();
    };
    const entries = [{ id, state: "open", context: '"c-1"' }];
    expect(await read(inbox, "reports")).toMatchObject({ reports: { open: 1 }, entries });
    const withoutRequests = Object.create(inbox, { requests: { value: undefined } }) as Inbox;
    expect(await read(withoutRequests, "overview")).toMatchObject({ ready: true, reports: null });
    const none = { reports: null, entries: [], more: false };
    expect(await read(withoutRequests, "reports")).toMatchObject(none);
    expect(await read(withoutRequests, `reports/${id}`)).toMatchObject({ report: null });
    await receiver.close();
  });
});

describe("the page", () => {
  test("an overdue report is found from the overview, and settled after a question", async () => {
    const [page, stage] = await onStage();
    const { overdue } = await askForReports(stage);
    await page.goto(stage.url);
    await page.getByRole("link", { name: "See the overdue reports" }).click();
    await rows(page, 1);
    await page.getByRole("link", { name: "Overdue 1" }).waitFor();
    await page.locator(".list").getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Report without an id yet" }).waitFor();
    await page.locator(".way").getByText("Told as overdue").waitFor();
    const settle = page.getByRole("button", { name: "Settle as complete", exact: true });
    await settle.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Settle 1 report as complete?" });
    await dialog.getByText(`reporthook reports settle ${overdue} complete`).waitFor();
    expect((await focused(page))[0]).toBe("Cancel");
    await settled(page);
    const said = page.getByText("Settled as complete.").waitFor();
    await page.getByRole("button", { name: "Settle 1 report as complete" }).click();
    await said;
    await page.locator(".verdict").getByText("Complete: the report is there").waitFor();
    expect(await settle.count()).toBe(0);
    await page.getByRole("link", { name: /report\.complete/ }).click();
    await page.getByText("A person settled the report").waitFor();
    await page.getByRole("link", { name: overdue }).click();
    await page.getByRole("heading", { name: "Course" }).waitFor();
    await page.getByRole("link", { name: "Reports" }).click();
    await page.getByRole("link", { name: "Done 3" }).click();
    await rows(page, 3);
  });

  test("a report shows the command that settles it to a person who may only view", async () => {
    const [page, stage] = await onStage({ authorize: () => ({ name: "Bob", may: "view" }) });
    const { open } = await askForReports(stage);
    await page.goto(`${stage.url}?request=${open}`);
    await page.getByText(`npx reporthook reports settle ${open} complete`).waitFor();
    expect(await page.getByRole("button", { name: "Settle" }).count()).toBe(0);
    await settled(page);
  });

  test("a context of any content is shown as text, and a long list in parts", async () => {
    const [page, { receiver, emulator, url }] = await onStage();
    emulator.fault("delivery", { drop: true });
    const { reports } = receiver;
    const report = { domains: ["example.com"] };
    const { id } = await reports.request(report, { context: hostile });
    for (let count = 0; count < 55; count++) await reports.request(report);
    await page.goto(`${url}?show=reports`);
    await rows(page, 50);
    await page.getByText("50 of 56 shown").waitFor();
    await page.getByRole("button", { name: "Show older ones" }).click();
    await rows(page, 56);
    await page.locator(".list").getByRole("link", { name: "<img" }).click();
    await page.getByText('"<img src=x onerror=alert(1)>"').waitFor();
    await page.getByText("\\u202egnp.exe\\u0007").waitFor();
    expect(await page.locator("main img").count()).toBe(0);
    expect(new URL(page.url()).search).toBe(`?request=${id}`);
  });
});
