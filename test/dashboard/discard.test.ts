import { createReceiver, memoryInbox } from "@reporthook/core";
import { dashboard } from "@reporthook/dashboard";
import { dashboardMessages } from "@reporthook/dashboard/internals";
import { describe, expect, it } from "vitest";
import { playedAppOnStage } from "./stage/app-on-stage.ts";
import { focused, rows } from "./stage/look.ts";
import { onPlayedStage, test } from "./stage/on-stage.ts";

const act = { "x-reporthook": "1", "sec-fetch-site": "same-origin" };
const ada = { name: "Ada", may: "act" } as const;

describe("requests", () => {
  it("the dashboard discards a delivery, or all of a reason that are as shown, and logs who did it", async () => {
    const stage = await playedAppOnStage({ authorize: () => ada });
    const { url, receiver, logged } = stage;
    const [first, second, third] = await receiver.inbox.list({ state: "dead" });
    const { origin } = new URL(url);
    const headers = { "x-reporthook": "1", origin };
    const discard = async (path: string) => {
      const answer = await fetch(`${url}api/${path}`, { method: "POST", headers });
      return { status: answer.status, text: await answer.text() };
    };
    const answer = await discard(`deliveries/${second?.id}/discard`);
    expect([answer.status, answer.text]).toEqual([200, '{"done":1}']);
    expect(await receiver.inbox.get(second?.id ?? "")).toBeNull();
    const reason = "do_not_retry";
    const overview = await fetch(`${url}api/overview`, { headers: { origin } });
    const { parkedChangedAt } = (await overview.json()) as { readonly parkedChangedAt: string };
    const newest = Math.max(first?.changedAt.getTime() ?? 0, third?.changedAt.getTime() ?? 0);
    expect(new Date(parkedChangedAt).getTime()).toBeGreaterThanOrEqual(newest);
    // It fails again meanwhile.
    await receiver.inbox.release(third?.id ?? "");
    const failedAgain = async () => (await receiver.inbox.get(third?.id ?? ""))?.history.length;
    await expect.poll(failedAgain).toBe(4);
    const shown = `reason=${reason}&unchangedSince=${parkedChangedAt}`;
    expect((await discard(`discard?${shown}`)).text).toBe('{"done":1}');
    expect((await receiver.inbox.list({ state: "dead" })).map(({ id }) => id)).toEqual([third?.id]);
    expect((await discard(`deliveries/${third?.id}/discard?${shown}`)).text).toBe('{"done":0}');
    expect((await discard(`discard?reason=${reason}`)).text).toBe('{"done":1}');
    const some = dashboardMessages.discardAll;
    const by = { receiver: "reports", by: "Ada" };
    expect(logged).toEqual([
      { ...by, id: second?.id, message: dashboardMessages.discard },
      { ...by, reason, done: 1, message: some },
      { ...by, reason, done: 1, message: some },
    ]);
    expect((await receiver.inbox.counts()).held).toBe(2);
    for (const unclear of ["discard", `discard?reason=${reason}&unchangedSince=now`]) {
      expect((await discard(unclear)).status).toBe(400);
    }
  });

  it("the dashboard says how many it discarded before the inbox failed", async () => {
    const inbox = memoryInbox();
    const client = { authorize: async () => "valid" as const };
    const receiver = createReceiver({ client, inbox, logger: false });
    const headers = { "content-type": "application/json" };
    const body = '{"a":1}';
    for (let count = 0; count < 3; count++) {
      await receiver.fetch(new Request("http://x/hook", { method: "POST", body, headers }));
    }
    const { act: acting } = inbox;
    inbox.act = async function* (query) {
      yield* acting(query);
      throw new Error("EIO: i/o error, write");
    };
    const told: unknown[] = [];
    const logger = { error: (fields: unknown) => told.push(fields) };
    const page = dashboard(receiver, { authorize: () => ada, logger });
    const ask = () =>
      page(new Request("http://x/api/discard?reason=unsigned", { method: "POST", headers: act }));
    const answer = await ask();
    expect(answer.status).toBe(503);
    const detail = "EIO: i/o error, write. Before that 3 were discarded; the rest is as it was";
    expect(await answer.json()).toMatchObject({ detail });
    expect(told).toEqual([{ receiver: "reports", error: expect.stringContaining(detail) }]);
    await receiver.close();
  });
});

describe("the page", () => {
  test("a discard asks first, and goes back to the deliveries that are left", async () => {
    const [page, stage] = await onPlayedStage();
    await page.goto(stage.url);
    await page.getByRole("link", { name: "All parked deliveries" }).click();
    await page.locator(".list li", { hasText: "lost-33" }).getByRole("link").click();
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    await page.getByRole("dialog", { name: "Discard 1 delivery?" }).waitFor();
    // Enter must not do an act that can't be undone.
    expect((await focused(page))[0]).toBe("Cancel");
    await page.getByRole("button", { name: "Cancel" }).click();
    expect((await stage.receiver.inbox.counts()).dead).toBe(3);
    await page.getByRole("button", { name: "Discard", exact: true }).click();
    const said = page.getByText("1 delivery discarded.").waitFor();
    await page.getByRole("button", { name: "Discard 1 delivery" }).click();
    await said;
    await page.getByRole("heading", { name: "What is wrong" }).waitFor();
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
  });

  test("a discard of all with the same reason says how many, and does so many", async () => {
    const [page, stage] = await onPlayedStage({ authorize: () => ada });
    await page.goto(stage.url);
    await page.getByRole("button", { name: "Discard all 3 with the reason" }).click();
    await page.getByRole("dialog", { name: "Discard 3 deliveries?" }).waitFor();
    await stage.send("report.complete", { reportId: "lost-34" });
    await expect.poll(async () => (await stage.receiver.inbox.counts()).dead).toBe(4);
    const [released] = await stage.receiver.inbox.list({ state: "dead" });
    await stage.receiver.inbox.release(released?.id ?? "");
    await expect
      .poll(async () => (await stage.receiver.inbox.get(released?.id ?? ""))?.history.length)
      .toBe(4);
    const text = "2 deliveries discarded. 1 has changed meanwhile: left alone.";
    const said = page.getByText(text).waitFor();
    await page.getByRole("button", { name: "Discard 3 deliveries" }).click();
    await said;
    await page.getByRole("button", { name: "Discard all 2 with the reason A handler" }).waitFor();
    const left = await stage.receiver.inbox.list({ state: "dead" });
    expect(left.map(({ reportId }) => reportId)).toEqual([released?.reportId, "lost-34"]);
    const reason = "do_not_retry";
    expect(stage.logged.at(-1)).toMatchObject({ by: "Ada", reason, done: 2 });

    await page.goto(`${stage.url}?show=deliveries&state=parked&reason=no_handler`);
    await page.getByRole("button", { name: "Discard it" }).click();
    await page.getByRole("button", { name: "Discard 1 delivery" }).click();
    await rows(page, 0);
  });

  test("each action has the same on the command line beside it, to be copied", async () => {
    const [page, stage] = await onPlayedStage({ receiver: { name: "billing" } });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const [dead] = await stage.receiver.inbox.list({ state: "dead" });
    const [waiting] = await stage.receiver.inbox.list({ state: "verified" });
    for (const [query, button, command] of [
      [`?delivery=${dead?.id}`, "Discard", `discard ${dead?.id}`],
      [`?delivery=${dead?.id}`, "Release", `release ${dead?.id}`],
      [`?delivery=${waiting?.id}`, "Retry now", `retry ${waiting?.id}`],
      ["?show=deliveries&state=parked&reason=expired", "Release it", "release --reason expired"],
      ["?show=deliveries&state=parked&reason=expired", "Discard it", "discard --reason expired"],
    ] as const) {
      await page.goto(stage.url + query);
      await page
        .getByRole("button", { name: button, exact: button === "Release" })
        .first()
        .click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("button", { name: "Copy" }).click();
      await dialog.getByText("Copied").waitFor();
      const copied = await page.evaluate("navigator.clipboard.readText()");
      expect(copied).toBe(`npx reporthook inbox ${command} --receiver billing --db inbox.db`);
    }
  });
});
