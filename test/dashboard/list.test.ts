import { DoNotRetry } from "@reporthook/core";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { faults, focused, rows } from "./stage/look.ts";
import { onPlayedStage, onStage, test } from "./stage/on-stage.ts";
import type { Stage } from "./stage/stage.ts";

async function sendMany({ send }: Stage, number: number, of: string): Promise<string[]> {
  const ids: string[] = [];
  for (let one = 1; one <= number; one++) {
    ids.push(await send("report.complete", { reportId: `${of}-${one}` }));
  }
  return ids;
}

/** Shows the first 50 of them. */
async function showMany(page: Page, stage: Stage, number: number): Promise<void> {
  await sendMany(stage, number, "early");
  await page.goto(`${stage.url}?show=deliveries`);
  await rows(page, 50);
}

// Before the page has done what it does after painting them.
const leaveWithTheNextRows = `new MutationObserver((_, observer) => {
  observer.disconnect();
  document.querySelector(".list").parentElement.dispatchEvent(new MouseEvent("mouseleave"));
}).observe(document.querySelector(".list"), { childList: true })`;

describe("deliveries", () => {
  test("the list begins on the first screen of a phone, with filters in reach", async () => {
    const [page, stage] = await onPlayedStage();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${stage.url}?show=deliveries`);
    await rows(page, 50);
    const first = await page.locator(".list li").first().boundingBox();
    expect((first?.y ?? 844) + (first?.height ?? 844)).toBeLessThan(844 / 2);
    await page.getByText("More filters").focus();
    await page.keyboard.press("Enter");
    await page.locator("[name=report]").fill("q3-sales-7");
    await rows(page, 2);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    // It is still to be seen what was asked for.
    await page.reload();
    await rows(page, 2);
    expect(await page.locator("[name=report]").isVisible()).toBe(true);
  });

  test("the list ignores names in its address that are no filters", async () => {
    const [page, stage] = await onPlayedStage();
    await page.goto(`${stage.url}?show=deliveries&utm_source=mail&constructor=x`);
    await rows(page, 50);
    expect(await page.getByRole("button", { name: "Clear" }).isDisabled()).toBe(true);
  });

  test("the list shows what fits each filter, and what to do when nothing does", async () => {
    const [page, stage] = await onPlayedStage();
    const { inbox } = stage.receiver;
    await page.goto(`${stage.url}?show=deliveries`);
    await rows(page, 50);
    const [dead] = await inbox.list({ state: "dead" });
    const id = dead?.id ?? "";

    const choose = (name: string, value: string) =>
      page.locator(`[name=${name}]`).selectOption(value);
    const clear = () => page.getByRole("button", { name: "Clear" }).click();
    await choose("state", "parked");
    await rows(page, 5);
    await choose("reason", "do_not_retry");
    await rows(page, 3);
    await clear();
    await choose("event", "test_webhook_endpoint");
    await rows(page, 1);
    await clear();
    await page.locator("[name=report]").fill("q3-sales-7");
    await rows(page, 2);
    await clear();
    await page.locator("[name=id]").fill(id.slice(0, 18));
    await rows(page, (await inbox.list({ idPrefix: id.slice(0, 18) })).length);
    await page.locator("[name=id]").fill(id);
    await rows(page, 1);
    await clear();
    await page.locator("[name=until]").fill("2020-01-01T00:00");
    await page.getByText("No delivery fits these filters").waitFor();
    await page.getByRole("button", { name: "Show all deliveries" }).click();
    await page.locator("[name=from]").fill("2020-01-01T00:00");
    await rows(page, 50);

    // The address is the filter: a reload shows the same.
    await choose("state", "held");
    await rows(page, 2);
    await page.reload();
    await rows(page, 2);
    await page.goBack();
    await rows(page, 50);
    await page.getByRole("button", { name: "Show older ones" }).click();
    const { length } = await inbox.list({ limit: 1_000 });
    await rows(page, length);
  });

  test("the list takes along text typed just now, and forgets it when cleared", async () => {
    const [page, stage] = await onPlayedStage();
    await page.goto(`${stage.url}?show=deliveries`);
    await rows(page, 50);
    const shown = () => Object.fromEntries(new URL(page.url()).searchParams);
    // In one turn of the page, faster than anybody types; a timer set now is due after those that are set already.
    const at = (...steps: readonly string[]) =>
      page.evaluate(`${steps.join(";")}; new Promise((resolve) => setTimeout(resolve, 300))`);
    const type = (name: string, value: string) =>
      `{ const field = document.querySelector("[name=${name}]"); field.value = "${value}";` +
      ` field.dispatchEvent(new Event("input", { bubbles: true })) }`;
    const choose = (name: string, value: string) =>
      type(name, value).replace('"input"', '"change"');
    const clear = `[...document.querySelectorAll("button")].find((one) => one.textContent === "Clear").click()`;

    await at(type("report", "q3-sales-7"), choose("state", "parked"));
    expect(shown()).toEqual({ show: "deliveries", state: "parked", report: "q3-sales-7" });
    await at(type("id", "01"), clear);
    expect(shown()).toEqual({ show: "deliveries" });
    await at(type("id", "01"), choose("state", "parked"));
    const there = "[...document.querySelectorAll('nav a')][1].click()";
    await at(type("report", "q3-sales-7"), there);
    expect(shown()).toEqual({ show: "deliveries" });
    await rows(page, 50);
    await at(type("id", "01"), "document.querySelector('.list a').click()");
    expect(shown()).toEqual({ delivery: expect.any(String) });
  });

  test("the list takes a typed moment as UTC in any zone, once it is one, and leaves it as typed", async () => {
    const [page, { url }] = await onStage();
    const there = { timezoneId: "Europe/Berlin", locale: "en-US" };
    const context = await page.context().browser()?.newContext(there);
    context?.setDefaultTimeout(60_000);
    const typing = await context?.newPage();
    if (typing === undefined) throw new Error("The browser has no page");
    await typing.goto(`${url}?show=deliveries&from=2026-11-20T09:30:00.000Z`);
    const field = typing.locator("[name=from]");
    const from = () => new URL(typing.url()).searchParams.get("from");
    const before = await typing.evaluate("history.length");
    expect(await field.inputValue()).toBe("2026-11-20T09:30");
    expect(await typing.getByLabel("From (UTC)").inputValue()).toBe("2026-11-20T09:30");

    await field.focus();
    for (const key of ["Tab", "Tab", ..."202"]) await typing.keyboard.press(key);
    expect(from()).toBe("2026-11-20T09:30:00.000Z");
    await typing.keyboard.press("5");
    await expect.poll(from).toBe("2025-11-20T09:30:00.000Z");
    expect(await field.inputValue()).toBe("2025-11-20T09:30");
    expect(await typing.evaluate("history.length")).toBe(before);

    await field.fill("0202-11-20T10:30");
    await typing.locator("h1").click();
    expect(await field.inputValue()).toBe("2025-11-20T09:30");
    await field.fill("2026-02-03T23:45");
    await expect.poll(from).toBe("2026-02-03T23:45:00.000Z");
    await field.fill("");
    await expect.poll(from).toBeNull();
    await context?.close();
  });

  test("the list moves nothing under the pointer or the focus while it is live", async () => {
    const [page, { send, url }] = await onStage();
    await send("report.complete", { reportId: "first" });
    await page.goto(`${url}?show=deliveries`);
    const first = page.locator(".list li", { hasText: "first" });
    await first.hover();
    const before = await first.boundingBox();
    await send("report.complete", { reportId: "second" });
    await page.getByRole("button", { name: "1 new: show" }).waitFor();
    expect(await first.boundingBox()).toEqual(before);
    await page.getByRole("button", { name: "1 new: show" }).click();
    await rows(page, 2);
    await page.mouse.move(0, 0);
    await page.locator(".list a").first().focus();
    await send("report.complete", { reportId: "third" });
    await page.getByRole("button", { name: "1 new: show" }).waitFor();
    await page.locator("h1").click();
    await rows(page, 3);
  });

  test("the list keeps every row that was asked for, and each of them live", async () => {
    const [page, stage] = await onStage({ fails: new DoNotRetry("Not yet") });
    const [first = ""] = await sendMany(stage, 60, "early");
    await stage.receiver.idle({ timeoutMs: 60_000 });
    await page.goto(`${stage.url}?show=deliveries`);
    await rows(page, 50);
    await page.getByRole("button", { name: "Show older ones" }).click();
    await rows(page, 60);
    await page.mouse.move(0, 0);
    await page.locator("h1").click();
    await sendMany(stage, 10, "late");
    await rows(page, 70);
    stage.fix();
    await stage.receiver.inbox.release(first);
    await page.locator(".list li", { hasText: "Handled" }).getByText("early-1").waitFor();
  });

  test("the list leaves the focus on the screen when the button that had it is gone", async () => {
    const [page, stage] = await onStage();
    const id = "document.activeElement.id";
    await stage.send("report.complete", { reportId: "first" });
    await page.goto(`${stage.url}?show=deliveries&report=first`);
    await rows(page, 1);
    await page.locator(".list a").focus();
    await stage.send("report.complete", { reportId: "first" });
    await page.getByRole("button", { name: "1 new: show" }).focus();
    await page.keyboard.press("Enter");
    await rows(page, 2);
    await expect.poll(() => page.evaluate(id)).toBe("main");
    await page.getByRole("button", { name: "Clear" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(id)).toBe("main");
  });

  test("the list shows new rows once the pointer leaves it, beside older ones", async () => {
    const [page, stage] = await onStage();
    await showMany(page, stage, 60);
    await page.evaluate(leaveWithTheNextRows);
    await page.getByRole("button", { name: "Show older ones" }).click();
    await rows(page, 60);
    await sendMany(stage, 10, "late");
    await rows(page, 70);
  });

  test("the list shows new rows when the element that had the focus is gone", async () => {
    const [page, stage] = await onStage();
    await showMany(page, stage, 60);
    // Some browsers don't tell of it.
    await page.evaluate(
      'addEventListener("focusout", (event) => event.stopImmediatePropagation(), true)',
    );
    await page.getByRole("button", { name: "Show older ones" }).focus();
    await page.keyboard.press("Enter");
    await rows(page, 60);
    await sendMany(stage, 10, "late");
    await rows(page, 70);
  });

  test("the list holds older ones that were asked for as it holds the others", async () => {
    const [page, stage] = await onStage();
    await showMany(page, stage, 110);
    await page.getByText("Newest first, 50 of 110 shown").waitFor();
    await page.getByRole("button", { name: "Show older ones" }).click();
    await rows(page, 100);
    const last = page.locator(".list a").last();
    await last.focus();
    await page.mouse.move(0, 0);
    await sendMany(stage, 20, "late");
    await page.getByRole("button", { name: "20 new: show" }).waitFor();
    await rows(page, 100);
    expect((await focused(page))[0]).toContain("early-11");
  });

  test("the list stands still however many come, and says what it can't count", async () => {
    const [page, stage] = await onStage();
    await stage.send("report.complete", { reportId: "first" });
    await page.goto(`${stage.url}?show=deliveries`);
    const first = page.locator(".list li", { hasText: "first" });
    await first.hover();
    const before = await first.boundingBox();
    await sendMany(stage, 65, "late");
    await page.getByRole("button", { name: "50+ new: show" }).waitFor();
    expect(await first.boundingBox()).toEqual(before);
    await rows(page, 1);
    await page.getByRole("button", { name: "50+ new: show" }).click();
    await rows(page, 50);
  });

  test("the list says that older ones can't be had now, and shows them later", async () => {
    const [page, stage] = await onStage();
    await showMany(page, stage, 55);
    await page.route("**/api/deliveries?limit=100*", (route) => route.fulfill({ status: 503 }));
    await page.getByRole("button", { name: "Show older ones" }).click();
    await page.getByRole("button", { name: "Loading older ones…" }).waitFor();
    await page.getByText("Connection lost, trying again…").waitFor();
    await rows(page, 50);
    expect(faults(page).filter((fault) => !fault.includes("503"))).toEqual([]);
    await page.unroute("**/api/deliveries?limit=100*");
    await rows(page, 55);
    faults(page).length = 0;
  });
});
