import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";

const found = new WeakMap<Page, string[]>();

/** The faults of a page: errors, also those that the browser logged, and requests to other origins. */
export function faults(page: Page): string[] {
  return found.get(page) ?? [];
}

/** Opens an empty page that notes its faults. */
export async function openPage(browser: Browser, url: string): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const list: string[] = [];
  found.set(page, list);
  const { origin } = new URL(url);
  page.on("pageerror", (error) => list.push(String(error)));
  page.on("console", (message) => {
    // A server that restarts is not there for a moment.
    const isAway =
      /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;
    if (message.type() === "error" && !isAway.test(message.text())) list.push(message.text());
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) list.push(`asked for ${request.url()}`);
  });
  return page;
}

/** Waits until the list has so many rows. */
export async function rows(page: Page, number: number): Promise<void> {
  const count = (): Promise<number> => page.locator(".list > li").count();
  await expect.poll(count).toBe(number);
}

/** The element that has the focus: its text, and the style of its outline. */
export async function focused(page: Page): Promise<[text: string, outline: string]> {
  const at = "document.activeElement";
  return await page.evaluate(`[${at}.textContent, getComputedStyle(${at}).outlineStyle]`);
}

/** Holds a page to what everybody can use, at both widths. */
export async function settled(page: Page): Promise<void> {
  await page.getByText("Live", { exact: true }).waitFor();
  for (const width of [320, 1_280]) {
    await page.setViewportSize({ width, height: 800 });
    const wide = Number(await page.evaluate("document.documentElement.scrollWidth"));
    expect(wide, `${page.url()} at ${width} px`).toBeLessThanOrEqual(width);
    expect(await violationsOf(page), `${page.url()} at ${width} px`).toEqual([]);
  }
}

async function violationsOf(page: Page): Promise<string[]> {
  // As text, through the debugger: the page's policy lets no other script in.
  const run = `(async () => {
    const module = { exports: {} };
    ${axe.source};
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html));
  })()`;
  return (await page.evaluate(run)) as string[];
}
