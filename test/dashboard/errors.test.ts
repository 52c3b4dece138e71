import { DoNotRetry, type Receiver } from "@reporthook/core";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { rows, settled } from "./stage/look.ts";
import { onStage, test } from "./stage/on-stage.ts";
import type { Stage } from "./stage/stage.ts";

/** Handlers that fail with a few errors; each says which report it was. */
function handlers(receiver: Receiver): void {
  receiver.on("report.complete", ({ reportId }) => {
    if (reportId?.startsWith("q1")) throw new DoNotRetry(`No account for report ${reportId}`);
    if (reportId?.startsWith("q2")) {
      const cause = new RangeError("Page 9 of 4");
      throw new DoNotRetry("The archive is damaged", { cause });
    }
    throw new DoNotRetry(`Unknown quarter ${"of a very long name ".repeat(8)}`);
  });
}

async function sendNine({ send, receiver }: Stage): Promise<void> {
  for (let number = 1; number <= 3; number++) {
    await send("report.complete", { reportId: `q1-${number}` });
    await send("report.complete", { reportId: `q2-${number}` });
    await send("report.complete", { reportId: `q${number + 2}-1` });
  }
  await send("report.complete", { reportId: "q1-sales" });
  await expect.poll(async () => (await receiver.inbox.counts()).dead).toBe(10);
}

/** Opens the page as a stranger does, who clicks nowhere. */
async function open(page: Page, { url }: Stage): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(url);
}

describe("the ten seconds of a stranger on call", () => {
  test("an error is there without a click, and is gone after one and a yes: discarded", async () => {
    const [page, stage] = await onStage({ handlers });
    await stage.send("report.complete", { reportId: "q1-1" });
    await expect.poll(async () => (await stage.receiver.inbox.counts()).dead).toBe(1);
    await open(page, stage);
    const group = page.locator(".problems li");
    await group.getByText("DoNotRetry: No account for report q1-1").waitFor();
    await group.getByRole("button", { name: "Discard it" }).click();
    await page.getByRole("button", { name: "Discard 1 delivery" }).click();
    await page.getByRole("heading", { name: "The inbox is empty" }).waitFor();
  });

  test("an error is there without a click, and is gone after one and a yes: released", async () => {
    const [page, stage] = await onStage({ fails: new DoNotRetry("The disk is full") });
    await stage.send("report.complete");
    await expect.poll(async () => (await stage.receiver.inbox.counts()).dead).toBe(1);
    await open(page, stage);
    await page.locator(".problems").getByText("DoNotRetry: The disk is full").waitFor();
    stage.fix();
    await page.locator(".problems").getByRole("button", { name: "Release it" }).click();
    await page.getByRole("button", { name: "Release 1 delivery" }).click();
    await page.getByRole("heading", { name: "All that came is handled" }).waitFor();
  });
});

describe("handlers", () => {
  test("the list and the delivery say that no handler ran", async () => {
    const [page, { send, url }] = await onStage({ handlers });
    await send("report.processing", { reportId: "q1-1" });
    await page.goto(`${url}?show=deliveries`);
    const row = page.locator(".list li", { hasText: "Handled" });
    await row.getByText("no handler ran", { exact: true }).waitFor();
    await row.getByRole("link").click();
    const verdict = page.getByRole("region", { name: "State" });
    await verdict.getByText("Handled: no handler ran", { exact: true }).waitFor();
  });
});

describe("errors", () => {
  test("an error that most of a reason share stands with the reason, and leads to all that have it", async () => {
    const [page, stage] = await onStage({ handlers });
    await sendNine(stage);
    await page.goto(stage.url);
    const group = page.locator(".problems li");
    await group.getByRole("link", { name: "4 × DoNotRetry: No account for report q1" }).click();
    await page.getByRole("heading", { name: "Deliveries" }).waitFor();
    await rows(page, 4);
    await settled(page);
  });

  test("an error that not all of a reason share is told before all are released", async () => {
    const [page, stage] = await onStage({ handlers });
    await sendNine(stage);
    for (const query of ["", "?show=deliveries&state=parked&reason=do_not_retry"]) {
      await page.goto(stage.url + query);
      for (const button of ["Release all 10", "Discard all 10"]) {
        await page.getByRole("button", { name: button }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByText("They have different errors:").waitFor();
        expect(await dialog.getByRole("listitem").allTextContents()).toEqual([
          "4 × DoNotRetry: No account for report q1-sales",
          expect.stringContaining("3 × DoNotRetry: "),
          expect.stringContaining("3 × DoNotRetry: "),
        ]);
        if (button.startsWith("Discard")) await settled(page);
        await page.getByRole("button", { name: "Cancel" }).click();
      }
    }
  });

  test("an error leads to all that are parked", async () => {
    const [page, stage] = await onStage({ handlers });
    await sendNine(stage);
    await page.goto(stage.url);
    await page.locator(".problems").waitFor();
    await settled(page);
    await page.getByRole("link", { name: "All parked deliveries" }).click();
    await rows(page, 10);
    await page.getByText("Newest first, 10 shown").waitFor();
  });

  test("an error comes before the reason in the list and on the delivery, which has its causes", async () => {
    const [page, stage] = await onStage({ handlers });
    await sendNine(stage);
    await page.goto(`${stage.url}?show=deliveries&report=q2-1`);
    const error = "DoNotRetry: The archive is damaged";
    const row = page.locator(".list li");
    expect(await row.locator(".why").textContent()).toBe(`${error} A handler gave up do_not_retry`);
    await row.getByRole("link").click();
    const verdict = page.getByRole("region", { name: "State" });
    await verdict.getByText(error, { exact: true }).waitFor();
    const way = page.locator(".way");
    await way.getByText("caused by RangeError: Page 9 of 4").waitFor();
    await way.getByText("errors.test.ts:").first().waitFor();
  });
});
