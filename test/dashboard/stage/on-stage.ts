import { testWith } from "@reporthook/test-support/needs";
import type { Browser, Page } from "playwright-core";
import { afterAll, expect, onTestFinished } from "vitest";
import { appOnStage } from "./app-on-stage.ts";
import { missingForBrowser, openBrowser } from "./browser.ts";
import { faults, openPage } from "./look.ts";
import { failingHandlers, play } from "./scene.ts";
import type { Stage, StageOptions } from "./stage.ts";

let browser: Promise<Browser> | undefined;
afterAll(async () => (await browser)?.close());

/** A test that needs a browser. */
export const test: ReturnType<typeof testWith> = testWith(missingForBrowser());

/** Starts an app and opens a page, until the test ends: nothing may have gone wrong on the page, nor have been asked of others. */
export async function onStage(options: StageOptions = {}): Promise<[page: Page, stage: Stage]> {
  browser ??= openBrowser();
  const shown = await browser;
  const stage = await appOnStage(options);
  const page = await openPage(shown, stage.url);
  onTestFinished(async () => {
    const found = faults(page);
    await page.context().close();
    expect(found).toEqual([]);
  });
  return [page, stage];
}

/** The same with the deliveries that an app has after a while: most are handled, some are stuck. */
export async function onPlayedStage(
  options: StageOptions = {},
): Promise<[page: Page, stage: Stage]> {
  const [page, stage] = await onStage({ handlers: failingHandlers, ...options });
  await play(stage);
  return [page, stage];
}
