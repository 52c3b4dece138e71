import type { ReasonCode } from "@reporthook/core";
import { dashboardMessages } from "@reporthook/dashboard/internals";
import { gate } from "@reporthook/test-support/gate";
import { describe, expect } from "vitest";
import { faults, focused, rows } from "./stage/look.ts";
import { onPlayedStage, onStage, test } from "./stage/on-stage.ts";
import { failingHandlers } from "./stage/scene.ts";
import { frameworks, type StageOptions } from "./stage/stage.ts";

const script = `"><img src=x onerror="hacked=1"><script>hacked=1</script><b>`;
const ada = { name: "Ada", may: "act" } as const;

describe("the five minutes of a delivery", () => {
  for (const name of ["express", "koa", "hono", "node"] as const) {
    const options: StageOptions = {
      framework: frameworks[name],
      authorize: () => ada,
      receiver: { retry: { attempts: 2, minMs: 3_600_000, maxMs: 3_600_000 } },
      fails: new Error("The warehouse is away"),
    };
    test(`a delivery fails, is retried, parked, released and handled: ${name}`, async () => {
      const [page, { send, fix, logged, url }] = await onStage(options);
      await page.goto(`${url}?show=deliveries`);
      await page.getByText("No delivery yet").waitFor();
      const id = await send("report.complete", { reportId: "r-77" });
      const row = page.locator(".list li", { hasText: "r-77" });
      await row.getByText("The warehouse is away").waitFor();
      await row.getByText("1 tried, next in").waitFor();

      await row.getByRole("link").click();
      await page.getByRole("heading", { name: "report.complete r-77" }).waitFor();
      await page.getByText("Asked the service: valid").waitFor();
      await page.getByRole("button", { name: "Retry now" }).click();
      await page.getByRole("dialog", { name: "Retry 1 delivery now?" }).waitFor();
      await page.getByRole("button", { name: "Retry 1 delivery now" }).click();
      await page.getByText("Dead: All attempts failed").waitFor();

      fix();
      await page.getByRole("link", { name: "Overview" }).click();
      await page.getByRole("heading", { name: "What is wrong" }).waitFor();
      await page.getByRole("link", { name: "All attempts failed" }).click();
      await page.locator(".list").getByRole("link").click();
      await page.getByText("2 attempts failed.", { exact: true }).waitFor();
      const verdict = page.getByRole("region", { name: "State" });
      expect(await verdict.getByText("The warehouse is away").count()).toBe(1);
      await page.getByText("Attempt 2: parked as dead").waitFor();
      await page.getByRole("button", { name: "Release", exact: true }).click();
      // It is said for some seconds only.
      const said = page.getByText("1 delivery released.").waitFor();
      await page.getByRole("button", { name: "Release 1 delivery" }).click();
      await said;
      await page.getByText("Handled at attempt 1").waitFor();
      await page.getByText("Released by Ada").waitFor();
      expect(logged).toEqual([
        { receiver: "reports", by: "Ada", id, message: dashboardMessages.retry },
        { receiver: "reports", by: "Ada", id, message: dashboardMessages.release },
      ]);
    });
  }
});

describe("releasing", () => {
  test("a release of all with the same reason says how many, and does so many", async () => {
    const [page, stage] = await onPlayedStage();
    await stage.restart((receiver) => receiver.on("report", () => {}));
    await page.goto(stage.url);
    const { handled } = await stage.receiver.inbox.counts();
    await page.getByRole("button", { name: "Release all 3 with the reason" }).click();
    await page.getByRole("dialog", { name: "Release 3 deliveries?" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    expect((await stage.receiver.inbox.counts()).dead).toBe(3);
    await page.getByRole("button", { name: "Release all 3 with the reason" }).click();
    const said = page.getByText("3 deliveries released.").waitFor();
    await page.getByRole("button", { name: "Release 3 deliveries" }).click();
    await said;
    await page.getByRole("heading", { name: "What is wrong" }).waitFor();
    const handledNow = async () => (await stage.receiver.inbox.counts()).handled;
    await expect.poll(handledNow).toBeGreaterThanOrEqual(handled + 3);
    const reason: ReasonCode = "do_not_retry";
    expect(stage.logged.at(-1)).toMatchObject({ by: "local", reason, done: 3 });

    await page.goto(`${stage.url}?show=deliveries&state=parked&reason=no_handler`);
    await page.getByRole("button", { name: "Release it" }).click();
    await page.getByRole("dialog", { name: "Release 1 delivery?" }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator("[name=event]").selectOption("unknown");
    await expect.poll(() => page.getByRole("button", { name: "Release" }).count()).toBe(0);
    await rows(page, 1);
  });

  test("a release can't be called off once it is on its way, and goes on at the top", async () => {
    const [page, stage] = await onPlayedStage();
    const [dead] = await stage.receiver.inbox.list({ state: "dead" });
    const isLet = gate();
    await page.route(/\/release\?/, async (route) => {
      await isLet.opened;
      await route.continue();
    });
    await page.goto(`${stage.url}?delivery=${dead?.id}`);
    await page.getByRole("button", { name: "Release", exact: true }).click();
    await page.getByRole("button", { name: "Release 1 delivery" }).click();
    await page.getByRole("button", { name: "Cancel", disabled: true }).waitFor();
    for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").count()).toBe(1);
    expect((await focused(page))[0]).toBe("Release 1 delivery");
    isLet.open();
    await page.getByText("1 delivery released.").waitFor();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
  });

  test("a release says so when something else than the app answers", async () => {
    const [page, stage] = await onPlayedStage();
    await page.goto(stage.url);
    for (const status of [502, 200]) {
      await page.route("**/release?*", (route) =>
        route.fulfill({ status, contentType: "text/html", body: "<html>Not the app</html>" }),
      );
      await page.getByRole("button", { name: "Release all 3" }).click();
      await page.getByRole("button", { name: "Release 3 deliveries" }).click();
      await page.getByText(`The server answered ${status}.`).waitFor();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect((await focused(page))[0]).toContain("Release all 3");
    }
    await page.route("**/release?*", (route) => route.abort());
    await page.getByRole("button", { name: "Release all 3" }).click();
    await page.getByRole("button", { name: "Release 3 deliveries" }).click();
    await page.getByText("The server is unreachable.").waitFor();
    // It is not about the next screen.
    await page.getByRole("link", { name: "Deliveries", exact: true }).click();
    await page.getByRole("heading", { name: "Deliveries", exact: true }).waitFor();
    expect(await page.getByText("The server is unreachable.").count()).toBe(0);
    faults(page).length = 0;
  });

  test("an act is not offered to a person who may only view", async () => {
    const [page, stage] = await onPlayedStage({ authorize: () => ({ name: "Bob", may: "view" }) });
    await page.goto(stage.url);
    await page.getByText("Bob (view only)").waitFor();
    await page.getByRole("link", { name: "All parked deliveries" }).waitFor();
    expect(await page.getByRole("button", { name: /release|retry|discard/i }).count()).toBe(0);
    await page.getByRole("link", { name: "All parked deliveries" }).click();
    await page.locator(".list a").first().click();
    await page.getByRole("heading", { name: "History" }).waitFor();
    expect(await page.getByRole("button", { name: /release|retry|discard/i }).count()).toBe(0);
  });
});

describe("changes outside", () => {
  test("the page connects again after the server restarts", async () => {
    const [page, stage] = await onStage();
    await page.goto(`${stage.url}?show=deliveries`);
    await page.getByText("No delivery yet").waitFor();
    await stage.restart();
    await stage.send("report.complete", { reportId: "after" });
    await page.locator(".list li", { hasText: "after" }).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
  });

  test("the page says why it refuses", async () => {
    const [page, { url }] = await onStage({
      authorize: ({ headers }) => (headers.get("x-once") ? ada : null),
    });
    // Only the page and its assets are allowed, as for a person who was signed out while the page was open.
    await page.route("**/inbox/", (route) =>
      route.continue({ headers: { ...route.request().headers(), "x-once": "1" } }),
    );
    await page.route("**/assets/*", (route) =>
      route.continue({ headers: { ...route.request().headers(), "x-once": "1" } }),
    );
    await page.goto(url);
    await page.getByText("You may not view this dashboard.").waitFor();
    faults(page).length = 0;
  });

  test("the page says in the end that it is refused, though asked in vain at first", async () => {
    const [page, { url }] = await onStage();
    let asked = 0;
    await page.route("**/api/deliveries?*", (route) => {
      if (++asked === 1) return route.fulfill({ status: 503 });
      return route.fulfill({ status: 400, json: { detail: "Not in this inbox." } });
    });
    await page.goto(`${url}?show=deliveries&report=none`);
    await page.getByText("Not in this inbox.").waitFor();
    faults(page).length = 0;
  });

  test("the page says nothing of one list's refusal when another is shown", async () => {
    const [page, { url }] = await onStage();
    await page.route("**/api/deliveries?*", (route) => {
      // Of the other there is no news.
      if (!route.request().url().includes("none")) return;
      return route.fulfill({ status: 400, json: { detail: "Not in this inbox." } });
    });
    await page.goto(`${url}?show=deliveries&report=none`);
    await page.getByText("Not in this inbox.").waitFor();
    await page.getByRole("link", { name: "Deliveries" }).click();
    await page.getByRole("form", { name: "Filters" }).waitFor();
    expect(await page.getByText("Not in this inbox.").count()).toBe(0);
    faults(page).length = 0;
  });

  test("the page asks about one delivery no more once another is shown", async () => {
    const [page, stage] = await onStage({ handlers: failingHandlers });
    const id = await stage.send("report.complete", { reportId: "q3-sales-1" });
    await page.goto(`${stage.url}?delivery=${id}`);
    await page.getByRole("link", { name: "Deliveries" }).click();
    await rows(page, 1);
    await page.goBack();
    await page.getByRole("button", { name: /Release|Handle again/ }).click();
    await page.getByRole("dialog").waitFor();
    await page.goForward();
    await rows(page, 1);
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.goBack();
    await page.getByRole("button", { name: /Release|Handle again/ }).waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
  });

  test("the page offers to handle deliveries again, also those without a signature", async () => {
    const [page, { send, url }] = await onStage({ handlers: failingHandlers });
    const [signature, again] = ["none" as const, page.getByRole("button", { name: /again/ })];
    for (const id of [
      await send("test_webhook_endpoint"),
      await send("test_webhook_endpoint", { signature }),
    ]) {
      await page.goto(`${url}?delivery=${id}`);
      await page.getByText(/^Handled at attempt/).waitFor();
      expect(await again.count()).toBe(1);
    }
  });

  test("the page lets the app end while it is open", async () => {
    const [page, stage] = await onStage();
    await page.goto(stage.url);
    await page.getByText("Live", { exact: true }).waitFor();
    await stage.finish();
    // Asked again over a connection that is still open, an app that ends answers 503.
    await page.getByText(/[Tt]rying again…/).waitFor();
    const others = faults(page).filter((fault) => !fault.includes("503"));
    faults(page).splice(0, Number.POSITIVE_INFINITY, ...others);
  });

  test("the page says nothing of a refusal that comes when something else is shown", async () => {
    const [page, { send, url }] = await onStage();
    await send("report.complete", { reportId: "r-1" });
    const isLet = gate();
    await page.route("**/api/deliveries?*report=none*", async (route) => {
      await isLet.opened;
      // The page may have given the request up.
      const refusal = { status: 400, json: { detail: "Not in this inbox." } };
      await route.fulfill(refusal).catch(() => {});
    });
    const why = page.waitForRequest((request) => /api.*report=none/.test(request.url()));
    await page.goto(`${url}?show=deliveries&report=none`);
    const asked = await why;
    await page.getByRole("button", { name: "Clear" }).click();
    await rows(page, 1);
    isLet.open();
    await (await asked.response())?.finished();
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
    expect(await page.getByText("Not in this inbox.").count()).toBe(0);
    await rows(page, 1);
    faults(page).length = 0;
  });

  test("the page shows a hostile delivery as the text that it is", async () => {
    const [page, { send, url, receiver }] = await onStage({ fails: new Error(script) });
    const body = {
      [script]: script,
      status: "complete",
      report_id: script,
      note: "\u202egnp.exe",
    };
    const id = await send("report.complete", { body });
    await page.goto(`${url}?show=deliveries`);
    await page.locator(".list li", { hasText: "onerror" }).getByText("Error:").waitFor();
    await page.goto(url);
    await page.locator(".problems").getByText("><img src=x").waitFor();
    await page.goto(`${url}?delivery=${id}`);
    await page.locator(".body").getByText("onerror").waitFor();
    await page.goto(`${url}?show=deliveries&report=${encodeURIComponent(script)}`);
    await rows(page, 1);
    await page.goto(`${url}?delivery=${encodeURIComponent(script)}`);
    await page.getByText("No such delivery").waitFor();
    await page.locator("main").getByText("onerror").waitFor();
    expect(await page.evaluate(() => (globalThis as { hacked?: number }).hacked)).toBeUndefined();
    expect(await page.locator("main b, main img, main script").count()).toBe(0);
    expect((await receiver.inbox.get(id))?.reportId).toBe(script);
  });
});
