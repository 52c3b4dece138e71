import { readFileSync } from "node:fs";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { describe, expect, it } from "vitest";
import { cli, startCli } from "./process.ts";

const folder = temporaryFolder();

describe("the newcomer's five minutes, as the README tells them", () => {
  it("a notification arrives, fails, is tried again, is parked, and is handled once released", async () => {
    const here = { cwd: folder };
    // Where the README's port may be taken, both commands are told another.
    const dev = startCli(["dev", "--port", "0"], here);
    const arrived = (): Promise<unknown> =>
      dev.printed(/received +\w{26}[\s\S]*verified +\w{26}[\s\S]*handled +\w{26} report\.complete/);
    const [, to = ""] = /--to (\S+)/.exec(await dev.printed("quit\n")) ?? [];
    const trigger = ["trigger", "report.complete", "--to", to];
    expect((await cli(trigger, here)).code).toBe(0);
    await arrived();

    dev.type("b");
    await dev.printed("The handler is broken");
    expect((await cli(trigger, here)).code).toBe(0);
    const text = await dev.printed(/npx reporthook inbox release .*\n/);
    expect(text.match(/failed +\w{26} attempt \d/g)).toHaveLength(3);
    expect(text).toMatch(/parked +\w{26} dead: 3 attempts failed/);

    dev.type("f");
    await dev.printed("The handler is fixed");
    const [, id = ""] = /inbox release (\w+) --db \.reporthook\/dev\.db/.exec(text) ?? [];
    const list = await cli(
      ["inbox", "list", "--state", "parked", "--db", ".reporthook/dev.db"],
      here,
    );
    expect(list.out).toContain(id);
    const shown = await cli(["inbox", "show", id, "--db", ".reporthook/dev.db"], here);
    expect(shown.out).toContain("the handler is broken");
    const released = await cli(["inbox", "release", id, "--db", ".reporthook/dev.db"], here);
    expect([released.code, released.out]).toEqual([0, `${id} released\n`]);
    await dev.printed(new RegExp(`handled +${id}`));

    dev.child.kill("SIGINT");
    expect(await dev.ended()).toMatchObject({ code: 0, err: "" });
  });

  it("the README shows the commands of the newcomer's five minutes", () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    for (const line of [
      "npx reporthook dev",
      "npx reporthook trigger report.complete",
      "npx reporthook inbox list --state parked --db .reporthook/dev.db",
      "npx reporthook inbox release ",
      "npx reporthook dashboard --db ",
      "http://127.0.0.1:4747/dashboard/",
    ]) {
      expect(readme.includes(line), line).toBe(true);
    }
  });
});
