import { testWith } from "@reporthook/test-support/needs";
import { describe, expect, test } from "vitest";
import { missingForBrowser } from "./stage/browser.ts";
import { rows } from "./stage/look.ts";
import { onStage } from "./stage/on-stage.ts";
import { failingHandlers, play } from "./stage/scene.ts";
import { withStage } from "./stage/stage.ts";

const testInBrowser = testWith(missingForBrowser());
const ada = { name: "Ada", may: "act" } as const;

interface Listed {
  readonly groups: readonly {
    readonly error: string;
    readonly text: string;
    readonly count: number;
  }[];
}

describe("requests", () => {
  test("the dashboard groups parked deliveries by equal errors, and releases a whole group", () =>
    withStage({ handlers: failingHandlers, authorize: () => ada }, async (stage) => {
      await play(stage);
      const { url, receiver } = stage;
      const { origin } = new URL(url);
      const headers = { "x-reporthook": "1", origin };
      const list = async (query: string): Promise<Listed["groups"]> => {
        const answer = await fetch(`${url}api/deliveries?${query}`, { headers });
        return ((await answer.json()) as Listed).groups;
      };
      const groups = await list("state=parked");
      const told = await receiver.inbox.errors();
      expect(groups).toEqual(told.map(({ error, text, count }) => ({ error, text, count })));
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
    }));
});

describe("the page", () => {
  testInBrowser("the list of parked deliveries has a button for each group of equal errors", () =>
    onStage({ handlers: failingHandlers }, async (page, stage) => {
      await play(stage);
      const [group] = await stage.receiver.inbox.errors();
      await page.goto(`${stage.url}?show=deliveries&state=parked`);
      const item = page.locator(".groups li").first();
      await item.getByRole("link").click();
      await rows(page, group?.count ?? 0);
      await item.getByRole("button", { name: "Discard" }).click();
      await page.getByRole("button", { name: /^Discard \d+ deliver/ }).click();
      await page.getByText(`${group?.count} deliver`).first().waitFor();
      await expect.poll(() => stage.receiver.inbox.list({ error: group?.error })).toEqual([]);
    }),
  );

  testInBrowser("a delivery shows its report, its path and its context", () =>
    onStage({ handlers: failingHandlers }, async (page, stage) => {
      await play(stage);
      const [entry] = await stage.receiver.inbox.list({ state: "dead" });
      await page.goto(`${stage.url}?delivery=${entry?.id}`);
      const section = page.locator("section", {
        has: page.getByRole("heading", { name: "For whom" }),
      });
      await section.getByText(entry?.reportId ?? "none").waitFor();
      expect(await section.textContent()).toMatch(/Path\s*\/\S*/);
    }),
  );
});
