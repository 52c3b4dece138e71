import type { Browser, Page } from "playwright-core";
import { afterAll, expect } from "vitest";
import { openBrowser } from "./browser.ts";
import { faults, openPage } from "./look.ts";
import { type Stage, type StageOptions, withStage } from "./stage.ts";

let browser: Promise<Browser> | undefined;
afterAll(async () => (await browser)?.close());

/** Runs with an app and a page of its dashboard; nothing may have gone wrong on the page, nor have been asked of others. */
export async function onStage(
  options: StageOptions,
  run: (page: Page, stage: Stage) => Promise<void>,
): Promise<void> {
  browser ??= openBrowser();
  const shown = await browser;
  await withStage(options, async (stage) => {
    const page = await openPage(shown, stage.url);
    try {
      await run(page, stage);
      expect(faults(page)).toEqual([]);
    } finally {
      await page.context().close();
    }
  });
}
