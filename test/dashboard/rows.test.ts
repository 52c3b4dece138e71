import type { Inbox } from "@reporthook/core";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import { maxListLength } from "@reporthook/dashboard/internals";
import { onNode } from "@reporthook/dashboard/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { testWith } from "@reporthook/test-support/needs";
import { temporaryPath } from "@reporthook/test-support/temporary";
import { expect, onTestFinished, test } from "vitest";
import { listen } from "../adapters/hosts/mount.ts";
import { missingForBrowser, openBrowser } from "./stage/browser.ts";
import { faults, openPage, rows } from "./stage/look.ts";
import { fill } from "./stage/many.ts";

// DASHBOARD_ROWS=1000000 measures what a large inbox costs; the default only shows that it works.
const number = Number(process.env["DASHBOARD_ROWS"] ?? 20_000);
const isLong = process.env["DASHBOARD_ROWS"] !== undefined;
const timeoutMs = isLong ? 600_000 : 180_000;

function middleOf(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? Number.NaN;
}

/** An inbox with so many deliveries, and the id of one of them; it ends with the test. */
async function openMany(many: number): Promise<{ readonly inbox: Inbox; readonly id: string }> {
  const file = temporaryPath();
  const id = await fill(file, many);
  const inbox = sqliteInbox(file, { migrate: false });
  await inbox.open();
  onTestFinished(() => inbox.close());
  return { inbox, id };
}

async function onMany(run: (url: string, id: string) => Promise<void>): Promise<void> {
  const { inbox, id } = await openMany(number);
  const served = await listen(onNode(dashboard(ofInbox(inbox))), "/");
  try {
    await run(served.url, id);
  } finally {
    await served.close();
  }
}

/** Milliseconds of a processor that the app spends on a view which nobody has looked at yet. */
async function costOf(inbox: Inbox, path: string): Promise<number> {
  const page = dashboard(ofInbox(inbox), { authorize: () => ({ name: "Ada", may: "view" }) });
  const began = process.cpuUsage();
  const answer = await page(new Request(`http://localhost/${path}`));
  await answer.text();
  const { user, system } = process.cpuUsage(began);
  expect(answer.status, path).toBe(200);
  return (user + system) / 1_000;
}

test(`the dashboard finds its way among ${number} deliveries`, { timeout: timeoutMs }, () =>
  onMany(async (url, id) => {
    const day = new Date(Date.now() - 3 * 86_400_000).toISOString();
    const asked: Record<string, number> = {
      "api/deliveries": 50,
      "api/deliveries?state=parked": 50,
      "api/deliveries?state=handled": 50,
      "api/deliveries?event=report.complete": 50,
      "api/deliveries?event=report.complete&state=handled": 50,
      "api/deliveries?event=report.complete&state=dead": 50,
      "api/deliveries?reason=do_not_retry": Math.min(50, number * 0.002),
      "api/deliveries?reason=attempts_used_up&event=report.complete": 50,
      "api/deliveries?report=report-7": 4,
      [`api/deliveries?until=${day}`]: 50,
      [`api/deliveries?until=${day}&state=held`]: 50,
      [`api/deliveries?id=${id.slice(0, 12)}`]: 0,
      [`api/deliveries?id=${id}`]: 1,
      [`api/deliveries?limit=${maxListLength}`]: maxListLength,
      [`api/deliveries?limit=${maxListLength + 1}`]: maxListLength,
      "api/deliveries?limit=1.5": 50,
    };
    const overall = ["api/overview", `api/deliveries/${id}`];
    for (const path of [...Object.keys(asked), ...overall]) {
      const times: number[] = [];
      for (let count = 0; count < (isLong ? 6 : 1); count++) {
        const began = performance.now();
        const answer = await fetch(url + path);
        const { entries } = (await answer.json()) as { entries?: unknown[] };
        times.push(performance.now() - began);
        expect(answer.status, path).toBe(200);
        const expected = asked[path] ?? 0;
        if (expected > 0) expect(entries?.length, path).toBe(expected);
      }
      const [first = 0, ...rest] = times;
      if (isLong)
        console.log(`${first.toFixed(1)} ms, then ${middleOf(rest).toFixed(1)} ms: ${path}`);
    }
  }),
);

// All pages share one reading a second, and readings take a twentieth of the time at most: see shared-views.test.ts.
test("a view of 100,000 deliveries costs the app no more than one of 4,000", async () => {
  const [few, many] = [await openMany(4_000), await openMany(100_000)];
  const views = ["overview", "deliveries", "deliveries?state=parked", "deliveries?report=report-7"];
  const paths = [...views, "deliveries?event=report.complete&state=dead", "reports", "one"];
  for (const path of paths) {
    const costs = { few: [] as number[], many: [] as number[] };
    for (let round = 0; round < 9; round++) {
      for (const [inboxes, list] of [[few, costs.few] as const, [many, costs.many] as const]) {
        const address = path === "one" ? `deliveries/${inboxes.id}` : path;
        list.push(await costOf(inboxes.inbox, `api/${address}`));
      }
    }
    // To go through all of them would cost 25 times as much.
    expect(middleOf(costs.many) / middleOf(costs.few), path).toBeLessThan(3);
  }
});

testWith(missingForBrowser())(`the page finds its way among ${number} deliveries`, () =>
  onMany(async (url, id) => {
    const browser = await openBrowser();
    const page = await openPage(browser, url);
    try {
      await page.goto(`${url}?show=deliveries`);
      await rows(page, 50);
      for (let number = 100; number <= maxListLength; number += 50) {
        await page.getByRole("button", { name: "Show older ones" }).click();
        await rows(page, number);
      }
      // One list is no longer than that: the next begins where it ended.
      const last = page.locator(".list a").last();
      const leadsTo = await last.getAttribute("href");
      await page.getByRole("button", { name: "Show older ones" }).click();
      await rows(page, 50);
      expect(await page.locator(".list a").first().getAttribute("href")).toBe(leadsTo);
      expect(new URL(page.url()).searchParams.get("until")).not.toBeNull();
      await page.getByRole("button", { name: "Clear" }).click();
      await page.locator("[name=id]").fill(id);
      await rows(page, 1);
      await page.goto(url);
      await page.getByRole("link", { name: "All attempts failed", exact: true }).click();
      await rows(page, 50);
      expect(faults(page)).toEqual([]);
    } finally {
      await browser.close();
    }
  }),
);
