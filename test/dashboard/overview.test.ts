import { hostname } from "node:os";
import { memoryInbox, RetryAfter } from "@reporthook/core";
import { describe, expect } from "vitest";
import { settled } from "./stage/look.ts";
import { onStage, test } from "./stage/on-stage.ts";
import { addAt } from "./stage/scene.ts";

const minuteMs = 60_000;

describe("what comes first", () => {
  const facts = () => Promise.reject(new Error("EIO: i/o error, read"));
  const inbox = Object.assign(memoryInbox(), { facts });
  test("the overview says of an inbox that can't be read that alone", async () => {
    const [page, { url }] = await onStage({ receiver: { inbox } });
    await page.goto(url);
    await page.getByRole("heading", { name: "The inbox can’t be read" }).waitFor();
    expect(await page.locator("h1").getAttribute("class")).toBe("is-critical");
    await page.getByText("EIO: i/o error, read").first().waitFor();
    expect(await page.getByText("No delivery yet").count()).toBe(0);
    expect(await page.getByRole("heading").allTextContents()).toEqual([
      "The inbox can’t be read",
      "What is wrong",
    ]);
  });

  test("the overview says first that the service refuses the API key, and leads to what waits for it", async () => {
    const [page, { emulator, receiver, send, url }] = await onStage();
    emulator.fault("authorize", { status: 401 });
    for (let sent = 0; sent < 5; sent++) await send("report.complete");
    await expect.poll(async () => (await receiver.health()).service).toBe("refused");
    await page.goto(url);
    await page.locator("h1.is-critical", { hasText: "The service refuses the API key" }).waitFor();
    const problem = page.locator(".problems .is-critical", { hasText: "key_refused" });
    await problem.getByText("5 deliveries wait, the oldest signature expires in").waitFor();
    await problem.getByText("npx reporthook inbox list --state received").waitFor();
    await problem.getByRole("button", { name: "Copy the command" }).waitFor();
    await problem.getByRole("link", { name: "See the deliveries" }).click();
    await page
      .locator(".list li", { hasText: "Received" })
      .first()
      .getByText("asked again in")
      .waitFor();
    await page.getByText("When last asked, the service refused the API key").first().waitFor();
  });

  test("the overview says first that all verdicts are invalid, and what to fix, never that all is handled", async () => {
    const [page, { receiver, send, url }] = await onStage();
    for (let sent = 0; sent < 5; sent++) await send("report.complete", { signature: "invalid" });
    await receiver.idle({ timeoutMs: 60_000 });
    await page.goto(url);
    const title = 'The last 5 verdicts were all "invalid"';
    await page.locator("h1.is-critical", { hasText: title }).waitFor();
    await page.getByText("the API key belongs to another account").waitFor();
    await settled(page);
  });

  test("the overview leads to what waits for its next try, and the list has of another day the date", async () => {
    const [page, { send, receiver, url }] = await onStage({ fails: new RetryAfter(3_600_000) });
    const id = await send("report.complete");
    await expect.poll(async () => (await receiver.inbox.get(id))?.attempts).toBe(1);
    await page.goto(url);
    await page.getByRole("link", { name: "See the deliveries" }).click();
    const waiting = page.locator(".list li", { hasText: "RetryAfter: " });
    await waiting.getByText("1 tried, next in 59 min").waitFor();
    await waiting.getByText("UTC").waitFor();
    const at = (await receiver.inbox.get(id))?.receivedAt ?? new Date();
    await page.clock.setFixedTime(Date.now() + 48 * 60 * minuteMs);
    await page.reload();
    await waiting.getByText(`${at.toISOString().slice(0, 10)} `).waitFor();
  });

  test("the overview shows the last day and week by the numbers of hours, which are kept", async () => {
    const [page, { inbox, url }] = await onStage();
    const hour = Math.floor(Date.now() / 3_600_000);
    await inbox.keepNotes("reports", {
      [`hour/${hour - 3}/a`]: '{"handled":5,"held/expired":2}',
      [`hour/${hour - 3}/b`]: '{"handled":2,"rejected/invalid_signature":1}',
      [`hour/${hour - 100}/a`]: '{"handled":3}',
    });
    await page.goto(url);
    await page.getByLabel("24 h").check();
    await page.getByText("Last 24 h: 7 handled, 0 waiting, 2 parked, 1 rejected").waitFor();
    await page.getByLabel("7 d").check();
    await page.getByText("Last 7 d: 10 handled, 0 waiting, 2 parked, 1 rejected").waitFor();
    await settled(page);
  });

  test("the overview names the processes: since when they run, and their last sign of life", async () => {
    const [page, { inbox, url }] = await onStage();
    const notes = async () => Object.values(await inbox.notes("reports", "now/process/"));
    await expect.poll(notes).toHaveLength(1);
    const { since, ...own } = JSON.parse(`${await notes()}`) as { readonly since: number };
    const other = { id: "other", host: "web-2", pid: 7, version: "1.2.3" };
    const gone = { ...own, ...other, since: since - 60 * minuteMs, at: since - 20 * minuteMs };
    await inbox.keepNotes("reports", { "now/process/other": JSON.stringify(gone) });
    await page.goto(url);
    const processes = page.locator("section", {
      has: page.getByRole("heading", { name: "Processes" }),
    });
    const running = processes.locator("li", { hasText: `${process.pid} on ${hostname()}` });
    await running.getByText(/^(now|[\d.]+ s ago)$/).waitFor();
    const silent = processes.locator("li", { hasText: "7 on web-2" });
    await silent.getByText("20 min ago").waitFor();
    const text = (await silent.textContent())?.replaceAll(/\s+/g, " ");
    expect(text).toMatch(/version 1\.2\.3, since .+ UTC.*, last sign of life 20 min ago silent$/);
  });

  test("the overview moves its charts on although nothing comes", async () => {
    const [page, stage] = await onStage();
    await addAt(stage, Date.now() - 57 * minuteMs, "r-1");
    await stage.receiver.idle({ timeoutMs: 60_000 });
    await page.clock.install();
    await page.goto(stage.url);
    await page.getByText("Last 1 h: 1 handled").waitFor();
    const place = () => page.locator("svg .as-handled").getAttribute("x");
    const before = Number(await place());
    await page.clock.runFor(minuteMs);
    await expect.poll(async () => Number(await place())).toBeLessThan(before);
    await page.clock.runFor(3 * minuteMs);
    await page.getByText("Last 1 h: 0 handled").waitFor();
  });
});
