import { describe, expect } from "vitest";
import { rows } from "./stage/look.ts";
import { onPlayedStage, onStage, test } from "./stage/on-stage.ts";

describe("words", () => {
  test("a reason has beside its name the code of the command line and the log", async () => {
    const [page, stage] = await onPlayedStage();
    await page.goto(stage.url);
    const group = page.locator(".problems li", { hasText: "A handler gave up" });
    await group.getByText("do_not_retry", { exact: true }).waitFor();
    await group.getByRole("link", { name: "A handler gave up", exact: true }).waitFor();
    await group.getByText("DoNotRetry: No account").waitFor();
    await group.getByRole("button", { name: "Release all 3" }).click();
    await page.getByRole("dialog").getByText("A handler gave up (do_not_retry)").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();

    await page.goto(`${stage.url}?show=deliveries`);
    const row = page.locator(".list li", { hasText: "lost-33" });
    await row.getByText("DoNotRetry: No account").waitFor();
    await row.getByText("A handler gave up do_not_retry", { exact: true }).waitFor();
    const rejected = page.locator(".list li", { hasText: "Rejected" });
    await rejected.getByText("Forged invalid_signature", { exact: true }).waitFor();
    const choice = page.locator("[name=reason]");
    await choice.selectOption({ label: "Signature too old (expired)" });
    await rows(page, 1);
    await page.getByRole("button", { name: "Clear" }).click();

    await row.getByRole("link").click();
    await page.getByText("Dead: A handler gave up do_not_retry", { exact: true }).waitFor();
    await page.getByText("Waits for a person: A handler gave up (do_not_retry)").waitFor();
  });

  test("a reason that a newer server knows is called by its code, once", async () => {
    const [page, stage] = await onPlayedStage();
    await page.route("**/api/deliveries/*", async (route) => {
      const answer = await fetch(route.request().url());
      const body = (await answer.text()).replaceAll('"do_not_retry"', '"of_tomorrow"');
      await route.fulfill({ body: `data: ${body}\n\n`, contentType: "text/event-stream" });
    });
    const [dead] = await stage.receiver.inbox.list({ state: "dead" });
    await page.goto(`${stage.url}?delivery=${dead?.id}`);
    await page.getByText("Dead: of_tomorrow", { exact: true }).waitFor();
  });

  const parse = (): never => {
    throw new RangeError("parse met what it does not know");
  };
  test("a reason says the way out of a body that parse fails on", async () => {
    const [page, { send, url, receiver }] = await onStage({ receiver: { parse } });
    const id = await send("report.complete", { reportId: "r-1" });
    await send("report.complete", { signature: "invalid" });
    await receiver.idle({ timeoutMs: 60_000 });
    await page.goto(`${url}?show=deliveries`);
    await page.locator(".list .what", { hasText: "not verified" }).waitFor();
    // It is genuine: its body alone is not understood.
    await page.locator(".list .what", { hasText: "not understood" }).click();
    await page.getByRole("heading", { name: "not understood" }).waitFor();
    expect(new URL(page.url()).searchParams.get("delivery")).toBe(id);
    const verdict = page.getByRole("region", { name: "State" });
    await verdict.getByText("RangeError: parse met what it does not know").waitFor();
    await verdict.getByText("the option parse or a schema failed: fix it, then release").waitFor();
  });
});
