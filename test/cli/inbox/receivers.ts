import { join } from "node:path";
import { DoNotRetry, RetryAfter } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { openApp } from "../app.ts";
import { cli, cliFails, cliJson, commandsIn } from "../process.ts";

const folder = temporaryFolder();

const db = join(folder, "inbox.db");

/** Parks unsigned notifications of a receiver. */
async function park(name: string, count: number): Promise<readonly string[]> {
  const { receiver, send } = openApp(db, { name });
  receiver.on("*", () => {});
  const ids: string[] = [];
  for (let sent = 0; sent < count; sent++) {
    ids.push(await send("report.complete", { signature: "none" }));
  }
  await receiver.close();
  return ids;
}

/** Has the process of a receiver be one that was killed a minute ago. */
async function silence(name: string): Promise<void> {
  const inbox = sqliteInbox(db);
  const [[key, text] = ["", ""]] = Object.entries(await inbox.notes(name, "now/process/"));
  const ended = JSON.parse(text);
  const silent = { ...ended, hasEnded: false, at: ended.at - 60_000 };
  await inbox.keepNotes(name, { [key]: JSON.stringify(silent) });
  await inbox.close();
}

async function parkedOf(receiver: string): Promise<number> {
  const args = ["inbox", "list", "--state", "parked", "--receiver", receiver, "--db", db];
  return (await cliJson<{ entries: unknown[] }>(args)).value.entries.length;
}

describe("two receivers on one file", () => {
  let theirs: readonly string[];
  beforeAll(async () => {
    theirs = await park("mine", 2);
    await park("reports", 1);
  });

  it("reporthook inbox list shows all receivers, and stats what is wrong with each", async () => {
    const listed = await cli(["inbox", "list", "--db", db]);
    expect(listed.out).toMatch(new RegExp(theirs.join("[\\s\\S]*")));
    const { out } = await cli(["inbox", "stats", "--db", db]);
    expect(out).toMatch(/^held +3$/m);
    expect(out).toMatch(/^warning: no_signature, for \d+ s: mine: .*/m);
    expect(out).toMatch(/^warning: no_signature, for \d+ s: reports: .*/m);
    expect(out).toMatch(/^Look: .* inbox list --reason unsigned --receiver mine /m);
    expect(out.match(/^process .* for (mine|reports) since/gm)).toHaveLength(2);
    expect(out).toMatch(
      /^process +none runs: nothing is verified or handled until the app runs \(and calls start\(\), with autostart: false\)$/m,
    );
    const { value } = await cliJson<{ problems: { count: number; receiver: string }[] }>([
      "inbox",
      "stats",
      "--db",
      db,
    ]);
    const counted = value.problems.map(({ receiver, count }) => `${count} of ${receiver}`);
    expect(counted.sort()).toEqual(["1 of reports", "2 of mine"]);
    await silence("mine");
    const gone = await cli(["inbox", "stats"], { env: { REPORTS_INBOX: db } });
    expect(gone.out).toMatch(/^process +none gives a sign of life: nothing is verified/m);
    const named = (await cli(["inbox", "stats", "--receiver", "mine", "--db", db])).out;
    expect(named).toMatch(/inbox list --reason unsigned --receiver mine/);
    expect(named).toMatch(/^held +2$/m);
  });

  it("reporthook inbox export finds a delivery by its id, whichever receiver has it", async () => {
    const exported = ["inbox", "export", theirs[0] ?? "", "--db", db];
    const { code, value } = await cliJson(exported);
    expect([code, value]).toEqual([0, expect.objectContaining({ body: expect.anything() })]);
    expect(await cliJson([...exported, "--receiver", "mine"])).toEqual({ code, value });
    expect((await cli([...exported, "--receiver", "reports"])).code).toBe(1);
  });

  it("reporthook inbox discard deletes nothing of another receiver, but for an id when none is named", async () => {
    const [first = "", second = ""] = theirs;
    await cliFails(
      1,
      ["inbox", "discard", first, "--receiver", "reports", "--db", db],
      "--receiver",
    );
    const all = ["inbox", "discard", "--reason", "unsigned", "--yes", "--db", db];
    expect((await cli(all)).out).toBe("Discarded 1.\n");
    expect([await parkedOf("reports"), await parkedOf("mine")]).toEqual([0, 2]);

    const none = await cli(all);
    expect([none.code, none.out, none.err]).toEqual([
      0,
      "Discarded 0.\n",
      "Of other receivers: 2; name one with --receiver.\n",
    ]);
    const release = await cli(["inbox", "release", "--reason", "unsigned", "--db", db]);
    expect([release.out, release.err]).toEqual(["Released 0.\n", none.err]);
    expect(await cliJson(all)).toEqual({ code: 0, value: { discarded: 0 } });
    expect(await parkedOf("mine")).toBe(2);

    expect((await cli(["inbox", "discard", first, "--db", db])).out).toBe(`${first} discarded\n`);
    const named = await cli([...all, "--receiver", "mine"]);
    expect([named.out, await parkedOf("mine")]).toEqual(["Discarded 1.\n", 0]);
    expect((await cli(["inbox", "show", second, "--db", db])).code).toBe(1);
  });
});

describe("errors of two receivers on one file", () => {
  const file = join(folder, "errors.db");

  /** Has a handler fail once. */
  async function fail(name: string, error: Error, state?: "verified"): Promise<void> {
    const { receiver, send } = openApp(file, { name });
    receiver.on("*", () => {
      throw error;
    });
    await send("report.complete");
    const failed = async () => expect(await receiver.inbox.errors({ state })).toHaveLength(1);
    await vi.waitFor(failed, { timeout: 60_000 });
    await receiver.close();
  }

  it("reporthook inbox errors tells commands that work as they are typed, for each receiver that has the error", async () => {
    await fail("shop", new DoNotRetry("it is gone"));
    const told = async (...args: string[]) =>
      commandsIn((await cli(["inbox", "errors", ...args, "--db", file])).err);
    const [look = [], ...acts] = await told();
    expect((await cli(look)).out).toContain("it is gone");
    expect(acts).toHaveLength(1);
    expect((await cli([...(acts[0] ?? []), "--yes"])).out).toBe("Released 1.\n");
    await fail("shop", new DoNotRetry("it is gone"));
    await fail("reports", new DoNotRetry("it is gone"));
    const [, ...both] = await told();
    expect(both).toHaveLength(2);
    for (const act of both) expect((await cli([...act, "--yes"])).out).toMatch(/Released [12]\.\n/);
    expect(await told()).toEqual([]);
  });

  it("reporthook inbox errors of waiting ones tells the command that retries them", async () => {
    await fail("later", new RetryAfter(3_600_000), "verified");
    const args = ["inbox", "errors", "--state", "verified", "--receiver", "later", "--db", file];
    const [look = [], retry = []] = commandsIn((await cli(args)).err);
    expect((await cli(look)).out).toContain("verified");
    expect((await cli([...retry, "--yes"])).out).toBe("Retried 1.\n");
  });
});

describe("processes on one file", () => {
  it("reporthook inbox stats names one that has ended only where none runs", async () => {
    const file = join(folder, "processes.db");
    const begin = async (name: string) => {
      const { receiver } = openApp(file, { name });
      await receiver.start();
      return receiver;
    };
    const stats = async (): Promise<string[]> => {
      const { out } = await cli(["inbox", "stats", "--db", file]);
      return [...out.matchAll(/^process .* for (\w+) since .*, (\w+), last/gm)].map(
        ([, name, state]) => `${name} ${state}`,
      );
    };
    const before = await begin("before");
    // A sign of life comes within seconds.
    await expect.poll(stats).toEqual(["before running"]);
    await before.close();
    expect(await stats()).toEqual(["before ended"]);
    const after = await begin("after");
    await expect.poll(stats).toEqual(["after running"]);
    await after.close();
    expect((await stats()).sort()).toEqual(["after ended", "before ended"]);
  });
});
