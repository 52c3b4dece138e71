import { describe, expect } from "vitest";
import { focused, settled } from "./stage/look.ts";
import { onPlayedStage, onStage, test } from "./stage/on-stage.ts";
import { askForReports } from "./stage/scene.ts";

describe("access", () => {
  for (const colorScheme of ["light", "dark"] as const) {
    test(`the page has nothing that axe finds, at 320 px and wide: ${colorScheme}`, async () => {
      const [page, stage] = await onPlayedStage();
      await page.emulateMedia({ colorScheme });
      const [dead] = await stage.receiver.inbox.list({ state: "dead" });
      const { complete, overdue } = await askForReports(stage);
      const [waiting] = await stage.receiver.inbox.list({ state: "verified" });
      const screens = ["", "?show=deliveries", "?show=deliveries&state=held&reason=expired"];
      const reports = ["?show=reports", `?request=${complete}`, `?request=${overdue}`];
      const deliveries = [`?delivery=${dead?.id}`, `?delivery=${waiting?.id}`];
      for (const query of [...screens, ...deliveries, ...reports]) {
        await page.goto(stage.url + query);
        await settled(page);
      }
      await page.goto(`${stage.url}?delivery=${dead?.id}`);
      await page.getByRole("button", { name: "Release", exact: true }).click();
      await settled(page);
    });
  }

  test("the page can be used with the keyboard, and shows where it is", async () => {
    const [page, stage] = await onPlayedStage();
    await page.goto(stage.url);
    await page.locator(".problems a").first().waitFor();
    const seen: string[] = [];
    for (let count = 0; count < 12; count++) {
      await page.keyboard.press("Tab");
      const [name, outline] = await focused(page);
      expect([name, outline]).toEqual([name, "solid"]);
      seen.push(name);
    }
    expect(seen.slice(0, 5)).toEqual([
      "Skip to content",
      "Overview",
      "Deliveries",
      "Reports",
      "See the deliveries",
    ]);
    await page.getByRole("button", { name: "Release all 3" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect((await focused(page))[0]).toContain("Release all 3");
  });

  test("the page moves the focus to the top of the next screen, for screen readers", async () => {
    const [page, stage] = await onPlayedStage();
    await page.goto(`${stage.url}?show=deliveries`);
    await page.locator(".list a").first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "History" }).waitFor();
    expect((await focused(page))[0]).toContain("History");
    expect(await page.title()).toMatch(/^Delivery .* reporthook$/);
  });

  test("the page tells times in the viewer's zone", async () => {
    const [page, { send, url, receiver }] = await onStage();
    const id = await send("report.complete", { reportId: "r-1" });
    const at = (await receiver.inbox.get(id))?.receivedAt;
    const context = await page.context().browser()?.newContext({ timezoneId: "Asia/Kathmandu" });
    context?.setDefaultTimeout(60_000);
    const there = await context?.newPage();
    await there?.goto(`${url}?delivery=${id}`);
    const clock = new Intl.DateTimeFormat("en-US", {
      timeStyle: "medium",
      timeZone: "Asia/Kathmandu",
    });
    await there?.getByText(clock.format(at)).first().waitFor();
    await context?.close();
  });
});
