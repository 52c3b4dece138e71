import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { faults, rows } from "./stage/look.ts";
import { onStage, test } from "./stage/on-stage.ts";
import type { Stage } from "./stage/stage.ts";

/** A page whose live connections say what the test wants, and its view that the test hides. */
async function openPuppet(page: Page, { url }: Stage) {
  await page.addInitScript(`
    globalThis.connections = [];
    globalThis.isHidden = false;
    Object.defineProperty(document, "hidden", { get: () => isHidden });
    globalThis.fetch = async (_address, { signal }) => {
      const start = (connection) => {
        connections.push(connection);
        signal.addEventListener("abort", () => connection.error(signal.reason));
      };
      return new Response(new ReadableStream({ start }));
    };
  `);
  await page.goto(url);
  const data = await (await fetch(`${url}api/overview`)).text();
  const badge = (text: string) => page.getByText(text, { exact: true }).waitFor();
  const write = (text: string) =>
    page.evaluate(`connections.at(-1).enqueue(new TextEncoder().encode(${JSON.stringify(text)}))`);
  return {
    badge,
    connections: () => page.evaluate("connections.length"),
    say: () => write(`data: ${data}\n\n`),
    sayStillHere: () => write(":\n\n"),
    hide: (isHidden: boolean) =>
      page.evaluate(
        `isHidden = ${isHidden}; document.dispatchEvent(new Event("visibilitychange"))`,
      ),
  };
}

describe("the live view", () => {
  test("the connection is lost after 40 s without an event, and made again", async () => {
    const [page, stage] = await onStage();
    await page.clock.install();
    const { badge, connections, say, sayStillHere } = await openPuppet(page, stage);
    await badge("Connecting…");
    await say();
    await badge("Live");
    for (let times = 0; times < 3; times++) {
      await page.clock.runFor(39_000);
      await sayStillHere();
    }
    await badge("Live");
    expect(await connections()).toBe(1);
    await page.clock.runFor(43_000);
    await badge("Connection lost, trying again…");
    expect(await connections()).toBe(2);
    await say();
    await badge("Live");
  });

  test("a page that is seen again is not live before it hears something", async () => {
    const [page, stage] = await onStage();
    const { badge, connections, say, hide } = await openPuppet(page, stage);
    await say();
    await badge("Live");
    await hide(true);
    await hide(false);
    await badge("Connecting…");
    expect(await connections()).toBe(2);
    await say();
    await badge("Live");
  });
});

describe("refusals", () => {
  test("a page too many is told so, until there is room", async () => {
    const [page, { url }] = await onStage();
    const leaving = new AbortController();
    const headers = { accept: "text/event-stream" };
    // Kept: `fetch` ends the connection of a response that is collected as garbage.
    const open: Response[] = [];
    while (open.length < 100) {
      open.push(await fetch(`${url}api/overview`, { headers, signal: leaving.signal }));
    }
    await page.goto(url);
    await page.getByText("Too many pages are open.").waitFor();
    expect(open.map(({ status }) => status)).toEqual(open.map(() => 200));
    leaving.abort();
    await page.getByText("Live", { exact: true }).waitFor();
    faults(page).length = 0;
  });

  test("a refusal by a login in front is told as such", async () => {
    const [page, { url }] = await onStage();
    await page.route("**/api/overview", (route) =>
      route.fulfill({ status: 401, contentType: "text/html", body: "<html>Who are you?</html>" }),
    );
    await page.goto(url);
    await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
    faults(page).length = 0;
  });

  test("a refusal for a while leaves the page as it is, and is told beside it", async () => {
    const [page, { send, url }] = await onStage();
    await send("report.complete");
    await page.goto(`${url}?show=deliveries`);
    await rows(page, 1);
    const detail = "The receiver is closing.";
    await page.route("**/api/**", (route) => route.fulfill({ status: 503, json: { detail } }));
    await page.evaluate(`document.dispatchEvent(new Event("visibilitychange"))`);
    await page.getByText(`${detail} Trying again…`).waitFor();
    await rows(page, 1);
    await page.unroute("**/api/**");
    await page.getByText("Live", { exact: true }).waitFor();
    faults(page).length = 0;
  });
});
