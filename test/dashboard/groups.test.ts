import { DoNotRetry, type Receiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { describe, expect, it } from "vitest";
import { appOnStage, playedAppOnStage } from "./stage/app-on-stage.ts";
import { rows } from "./stage/look.ts";
import { onPlayedStage, onStage, test } from "./stage/on-stage.ts";

const ada = { name: "Ada", may: "act" } as const;

interface Listed {
  readonly groups: readonly {
    readonly error: string;
    readonly text: string;
    readonly count: number;
    readonly releasable: number;
  }[];
}

interface Counted {
  readonly total: number | null;
  readonly parkedChangedAt: string | null;
}

describe("requests", () => {
  it("the dashboard groups parked deliveries by equal errors, and discards a whole group", async () => {
    const stage = await playedAppOnStage({ authorize: () => ada });
    const { url, receiver } = stage;
    const { origin } = new URL(url);
    const headers = { "x-reporthook": "1", origin };
    const list = async (query: string): Promise<Listed["groups"]> => {
      const answer = await fetch(`${url}api/deliveries?${query}`, { headers });
      return ((await answer.json()) as Listed).groups;
    };
    const groups = await list("state=parked");
    const told = await receiver.inbox.errors();
    const all = told.map(({ error, text, count }) => ({ error, text, count, releasable: count }));
    expect(groups).toEqual(all);
    const [first] = groups;
    expect(await list(`state=parked&error=${first?.error}`)).toEqual([first]);
    expect(await list("state=handled")).toEqual([]);
    const path = `${url}api/discard?error=${first?.error}`;
    const answer = await fetch(path, { method: "POST", headers });
    expect(await answer.json()).toEqual({ done: first?.count });
    expect((await receiver.inbox.errors()).map(({ error }) => error)).not.toContain(first?.error);
    expect(await receiver.inbox.acts()).toMatchObject([
      { by: "Ada", act: "discard", selection: { error: first?.error }, count: first?.count },
    ]);
  });

  it("the dashboard releases a whole group of equal errors, as it was shown", async () => {
    let isFixed = false;
    const handlers = (receiver: Receiver) =>
      void receiver.on("report.complete", ({ reportId }) => {
        if (!isFixed) throw new DoNotRetry(reportId === "r-3" ? "gone" : "the database is down");
      });
    const { url, receiver, send } = await appOnStage({ handlers, authorize: () => ada });
    for (const reportId of ["r-1", "r-2", "r-3"]) await send("report.complete", { reportId });
    await receiver.idle({ timeoutMs: 60_000 });
    const headers = { "x-reporthook": "1", origin: new URL(url).origin };
    const path = `${url}api/deliveries?state=parked&reason=do_not_retry`;
    const listed = await (await fetch(path, { headers })).json();
    const { groups, parkedChangedAt, total } = listed as Listed & Counted;
    expect([total, groups.map(({ count }) => count)]).toEqual([3, [2, 1]]);
    isFixed = true;
    const those = `error=${groups[0]?.error}&unchangedSince=${parkedChangedAt}`;
    const answer = await fetch(`${url}api/release?${those}`, { method: "POST", headers });
    expect(await answer.json()).toEqual({ done: 2 });
    await receiver.idle({ timeoutMs: 60_000 });
    expect(await receiver.inbox.counts()).toMatchObject({ handled: 2, dead: 1 });
    const [act] = await receiver.inbox.acts();
    expect(act).toMatchObject({ by: "Ada", act: "release", count: 2 });
  });
});

describe("the page", () => {
  test("a group of equal errors has no button to release what nobody vouches for: it would find none", async () => {
    const { clock } = createEmulator();
    const authorize = () => Promise.reject(new Error("out of order"));
    const [page, { receiver, send, url }] = await onStage({
      receiver: { clock, client: { authorize } },
    });
    const id = await send("report.complete");
    const held = async () => {
      clock.advance(600_000);
      return (await receiver.inbox.get(id))?.reason?.code;
    };
    await expect.poll(held).toBe("not_verified");
    await page.goto(`${url}?show=deliveries&state=parked`);
    const group = page.locator(".groups li").first();
    await group.getByRole("button", { name: "Discard it" }).waitFor();
    expect(await group.getByRole("button").count()).toBe(1);
    await page.goto(`${url}?show=deliveries&state=parked&reason=not_verified`);
    await page.getByRole("button", { name: "Release it" }).waitFor();
  });

  test("the list of parked deliveries has a button for each group of equal errors", async () => {
    const [page, stage] = await onPlayedStage();
    const [group] = await stage.receiver.inbox.errors();
    await page.goto(`${stage.url}?show=deliveries&state=parked`);
    const item = page.locator(".groups li").first();
    await item.getByRole("link").click();
    await rows(page, group?.count ?? 0);
    await item.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("button", { name: /^Discard \d+ deliver/ }).click();
    await page.getByText(`${group?.count} deliver`).first().waitFor();
    await expect.poll(() => stage.receiver.inbox.list({ error: group?.error })).toEqual([]);
    await page.goto(stage.url);
    const acts = page.getByRole("region", { name: "Last acts" }).getByRole("listitem");
    await expect.poll(() => acts.count()).toBe(1);
    const [act] = await stage.receiver.inbox.acts();
    expect(await acts.textContent()).toContain(`${act?.by} discarded ${group?.count} deliver`);
    expect(await acts.textContent()).toContain(`error ${group?.error}`);
  });

  test("a delivery shows its report, its request, its path and its context", async () => {
    const [page, { receiver, url }] = await onStage();
    const context = { customer: "c-1", api_key: "must not be shown" };
    const { id } = await receiver.reports.request({ domains: ["example.com"] }, { context });
    const entryOf = async () => (await receiver.inbox.list({ requestId: id })).at(0);
    await expect.poll(entryOf).toMatchObject({ state: "handled" });
    const entry = await entryOf();
    await page.goto(`${url}?show=deliveries`);
    await page.locator(".list li", { hasText: `request ${id}` }).waitFor();
    await page.locator("[name=request]").fill("another");
    await rows(page, 0);
    await page.locator("[name=request]").fill(id);
    await rows(page, 1);
    await page.locator(".list a").click();
    const section = page.locator("section", {
      has: page.getByRole("heading", { name: "For whom" }),
    });
    await section.getByText(entry?.reportId ?? "none").waitFor();
    expect(await section.textContent()).toMatch(
      new RegExp(`Request\\s*${id}\\s*Path\\s*/webhooks/reports.*"customer": "c-1"`, "s"),
    );
    expect(await section.textContent()).toContain('"api_key": "[removed]"');
    await section.getByRole("link", { name: id }).click();
    await page.getByText("example.com").first().waitFor();
  });
});
