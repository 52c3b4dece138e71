import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dashboard, ofInbox } from "@reporthook/dashboard";
import { maxListLength } from "@reporthook/dashboard/internals";
import { onNode } from "@reporthook/dashboard/node";
import { sqliteInbox } from "@reporthook/sqlite";
import { testWith } from "@reporthook/test-support/needs";
import { expect, test } from "vitest";
import { listen } from "../adapters/hosts/mount.ts";
import { missingForBrowser, openBrowser } from "./stage/browser.ts";
import { faults, openPage, rows } from "./stage/look.ts";
import { fill } from "./stage/many.ts";

// DASHBOARD_ROWS=1000000 measures what a large inbox costs; the default only shows that it works.
const number = Number(process.env["DASHBOARD_ROWS"] ?? 20_000);
const isLong = process.env["DASHBOARD_ROWS"] !== undefined;
const timeoutMs = isLong ? 600_000 : 180_000;

async function onMany(run: (url: string, id: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "reporthook-many-"));
  const file = join(folder, "inbox.db");
  const id = await fill(file, number);
  const inbox = sqliteInbox(file, { migrate: false });
  await inbox.open();
  const served = await listen(onNode(dashboard(ofInbox(inbox))), "/");
  try {
    await run(served.url, id);
  } finally {
    await served.close();
    await inbox.close();
    rmSync(folder, { recursive: true });
  }
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
        const { entries } = (await (await fetch(url + path)).json()) as { entries?: unknown[] };
        times.push(performance.now() - began);
        const expected = asked[path] ?? 0;
        if (expected > 0) expect(entries?.length, path).toBe(expected);
      }
      const [first = 0, ...rest] = times;
      const middle = rest.sort((one, other) => one - other)[2] ?? first;
      if (isLong) console.log(`${first.toFixed(1)} ms, then ${middle.toFixed(1)} ms: ${path}`);
    }
  }),
);

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
