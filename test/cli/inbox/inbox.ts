import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, DoNotRetry, type Entry, type ReceiverOptions } from "@reporthook/core";
import type { NotificationName } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { beforeAll, describe, expect, it } from "vitest";
import { type App, openApp } from "../app.ts";
import { cli, cliFails, cliJson, type Failed } from "../process.ts";

const folder = temporaryFolder();

interface HandlingApp extends App {
  readonly handled: string[];
}

/** An app that gives up on failed reports at once. */
function openHandling(db: string, options: Partial<ReceiverOptions> = {}): HandlingApp {
  const app = openApp(db, options);
  const handled: string[] = [];
  app.receiver.on("report.complete", ({ id }) => void handled.push(id));
  app.receiver.on("report.internal_error", ({ id }, { attempt }) => {
    if (!handled.includes(id)) handled.push(id);
    else if (attempt === 1) return;
    throw new DoNotRetry("it is gone");
  });
  return { ...app, handled };
}

function daysAgo(days: number): Clock {
  return { now: () => Date.now() - days * 86_400_000, setTimeout, clearTimeout };
}

/** The output of `list --json`. */
interface Listed {
  readonly entries: readonly Entry[];
  readonly next: string | null;
}

describe("the command inbox", () => {
  const db = join(folder, "inbox.db");
  let ids: { complete: string; dead: string; held: string; rejected: string };

  beforeAll(async () => {
    const app = openHandling(db);
    ids = {
      complete: await app.send("report.complete", { reportId: "r-1" }),
      dead: await app.send("report.internal_error"),
      held: await app.send("unknown"),
      rejected: await app.send("report", { signature: "invalid" }),
    };
    await app.finish();
  });

  it("reporthook inbox list shows deliveries, oldest first", async () => {
    const { code, out } = await cli(["inbox", "list", "--db", db]);
    expect(code).toBe(0);
    const [title, ...lines] = out.trimEnd().split("\n");
    expect(title).toMatch(/^ID +AGE +STATE +EVENT +REPORT +WHY$/);
    expect(lines.map((line) => line.split(/ +/)[0])).toEqual(Object.values(ids));
    expect(out).toMatch(/dead +report\.internal_error .*it is gone \(do_not_retry\)$/m);
  });

  it("reporthook inbox list goes on where it ended", async () => {
    const first = await cliJson<Listed>(["inbox", "list", "--db", db, "--limit", "3"]);
    expect(first.value.entries).toHaveLength(3);
    expect(first.value.next).toBe(ids.held);
    const rest = await cliJson(["inbox", "list", "--db", db, "--after", `${first.value.next}`]);
    expect(rest.value).toMatchObject({ entries: [{ id: ids.rejected }], next: null });
    const parked = await cliJson<Listed>(["inbox", "list", "--db", db, "--state", "parked"]);
    expect(parked.value.entries).toMatchObject([{ id: ids.dead }, { id: ids.held }]);
    const none = await cli(["inbox", "list", "--db", db, "--receiver", "other"]);
    expect([none.code, none.out]).toEqual([0, "Nothing.\n"]);
  });

  it("reporthook inbox show tells all that is known", async () => {
    const { out } = await cli(["inbox", "show", ids.dead, "--db", db]);
    for (const part of ["do_not_retry", "it is gone", "Attempts", '"status": "internal_error"']) {
      expect(out).toContain(part);
    }
    const { value } = await cliJson(["inbox", "show", ids.complete, "--db", db]);
    expect(value).toMatchObject({ id: ids.complete, reportId: "r-1", history: [{}, {}] });
  });

  it("reporthook inbox stats tells what is wrong, counts by state and by reason, and names the processes", async () => {
    const { value } = await cliJson(["inbox", "stats", "--db", db]);
    const moment = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect(value).toMatchObject({
      counts: { handled: 1, held: 1, rejected: 1, dead: 1, received: 0 },
      reasons: { do_not_retry: 1, no_handler: 1 },
      oldestWaitingMs: null,
      problems: [
        { code: "parked", severity: "warning", reason: expect.any(String), count: 1 },
        { code: "parked", command: expect.stringMatching(/^npx reporthook inbox list --reason /) },
      ],
      processes: [
        {
          receiver: "reports",
          host: hostname(),
          pid: process.pid,
          state: "ended",
          version: expect.any(String),
          since: moment,
          seenAt: moment,
        },
      ],
    });
    const { out, err } = await cli(["inbox", "stats", "--db", db]);
    expect(out).toMatch(/^parked +1 no_handler, 1 do_not_retry$/m);
    expect(out).toMatch(/^warning: parked, for .*: 1 delivery is parked as do_not_retry\./m);
    expect(out).toMatch(/^Look: .* inbox list --reason do_not_retry/m);
    expect(out).toMatch(
      new RegExp(
        `^process +${process.pid} on ${hostname()}, version .+, for reports since [\\d:T.-]+Z, ended, last sign of life .+ ago$`,
        "m",
      ),
    );
    expect(out).toMatch(/^Errors: +1 × .*it is gone \(--error \w{8}\)$/m);
    expect(err).toBe("");
  });

  it("reporthook inbox release and discard do what they can, and fail on the rest", async () => {
    const other = join(folder, "decide.db");
    const app = openHandling(other, { name: "mine" });
    const [one, two] = [await app.send("unknown"), await app.send("unknown")];
    await app.finish();

    const ofMine = ["--receiver", "mine", "--db", other];
    await cliFails(1, ["inbox", "release", one, "--db", other], "--receiver");
    const released = ["inbox", "release", one, "nobody", ...ofMine];
    const { code, value } = await cliJson<Failed>(released);
    expect(code).toBe(1);
    expect(value).toMatchObject({ released: [one], failed: [{ id: "nobody" }] });
    expect(value.error.message).toContain("inbox list");

    await cliFails(1, ["inbox", "discard", one, ...ofMine], "only held and dead");
    const discarded = await cli(["inbox", "discard", two, ...ofMine]);
    expect([discarded.code, discarded.out]).toEqual([0, `${two} discarded\n`]);
    expect((await cli(["inbox", "show", two, "--db", other])).code).toBe(1);
  });

  it("reporthook inbox prune keeps to the app's retention, says what it would delete, and needs a yes", async () => {
    const old = join(folder, "old.db");
    const made = async (parkedDays: number, ...names: NotificationName[]): Promise<void> => {
      const retention = { handledMs: 20 * 86_400_000, parkedMs: parkedDays * 86_400_000 };
      const inbox = sqliteInbox(old, { retention });
      const app = openHandling(old, { inbox, clock: daysAgo(50) });
      for (const name of names) await app.send(name);
      await app.finish();
    };
    const prune = ["inbox", "prune", "--db", old];
    await made(90, "report.complete", "report.complete", "unknown");
    const dry = await cli([...prune, "--dry-run"]);
    expect([dry.code, dry.out]).toEqual([0, "Would delete 2 (handled).\n"]);
    const refused = await cli(prune);
    expect([refused.code, refused.out]).toEqual([2, ""]);
    expect(refused.err).toContain("2 deliveries (handled) would be deleted: add --yes");
    const sure = await cliJson([...prune, "--yes"]);
    const value = { pruned: 2, deleted: { handled: 2 }, announced: {} };
    expect(sure).toEqual({ code: 0, value });
    expect((await cli(prune)).out).toBe("Deleted 0.\n");
    // A shorter retention deletes nothing that is parked before it was announced.
    await made(40);
    const announced = await cli(prune);
    expect(announced.out.replaceAll(/\s+/g, " ")).toContain(
      "Deleted 0. Announced the end of 1 delivery (no_handler): parked ones are deleted 3 days later at the earliest.",
    );
    expect((await cliJson<Listed>(["inbox", "list", "--db", old])).value.entries).toHaveLength(1);
  });

  it("reporthook inbox says the same whether or not the API key is a short word", async () => {
    const file = join(folder, "short-key.db");
    const app = openHandling(file, { clock: daysAgo(3) });
    const id = await app.send("test_webhook_endpoint");
    await app.finish();
    for (const args of [["list"], ["list", "--json"], ["export", id]]) {
      const command = ["inbox", ...args, "--db", file];
      const { out } = await cli(command, { env: { REPORTS_API_KEY: "test" } });
      expect(out).toBe((await cli(command)).out);
    }
  });

  it.each([
    ["is not there", () => "nothing.db", "There is no inbox"],
    [
      "was set aside",
      () => written("aside.db-damaged", "x").replace("-damaged", ""),
      "There is no inbox aside.db, but aside.db-damaged: the app has set it aside",
    ],
    ["is a link to itself", () => linked("loop.db", "loop.db"), "can't be accessed (ELOOP)"],
    ["is a folder", () => ".", "this is a folder"],
    ["is no database", () => written("text.db", "x".repeat(5_000)), "no SQLite database"],
    ["is another application's", () => madeBy("theirs.db"), "another application"],
  ])("reporthook inbox says what to do about a file that %s", async (_, file, hint) => {
    const { code, out, err } = await cli(["inbox", "list", "--db", file()], { cwd: folder });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^reporthook: [^\n]+\n$/);
    expect(err).toContain(hint);
  });

  it("reporthook inbox is safe while the app stores, handles and parks", async () => {
    const busy = join(folder, "busy.db");
    const app = openHandling(busy);
    await app.receiver.start();
    const sent: string[] = [];
    let sending = true;
    const load = async (): Promise<void> => {
      for (let i = 0; sending; i++) {
        sent.push(await app.send(i % 10 === 0 ? "report.internal_error" : "report.complete"));
      }
    };
    const loading = Promise.all(Array.from({ length: 8 }, load));
    await expect.poll(() => sent.length).toBeGreaterThan(50);

    const commands = [
      ["list", "--limit", "1000"],
      ["stats"],
      ["release", "--reason", "do_not_retry", "--yes"],
      ["prune"],
      ["list", "--state", "parked"],
    ];
    const ended = commands.map((args) => cli(["inbox", ...args, "--db", busy]));
    expect(await Promise.all(ended)).toEqual(
      commands.map(() => expect.objectContaining({ code: 0 })),
    );
    // After the first one: of two at the same time, one releases a delivery and the other is refused.
    const again = await cli([
      "inbox",
      "release",
      "--reason",
      "do_not_retry",
      "--yes",
      "--db",
      busy,
    ]);
    expect(again.code).toBe(0);
    sending = false;
    await loading;
    await app.receiver.idle({ timeoutMs: 60_000 });

    const bytesOf = async (file: string): Promise<unknown> =>
      (await cliJson<{ bytes: number }>(["inbox", "stats", "--db", file])).value.bytes;
    linked("busy-link.db", busy);
    expect(await bytesOf(join(folder, "busy-link.db"))).toBe(await bytesOf(busy));

    const id = await app.send("report.internal_error");
    sent.push(id);
    await app.receiver.idle({ timeoutMs: 60_000 });
    const parked = ["inbox", "list", "--state", "dead", "--limit", "10000", "--db", busy];
    expect((await cliJson<Listed>(parked)).value.entries.at(-1)).toMatchObject({ id });
    expect((await cli(["inbox", "release", id, "--db", busy])).code).toBe(0);
    const handled = async (): Promise<string | undefined> =>
      (await app.receiver.inbox.get(id))?.state;
    // The running app takes up what another process has released.
    await expect.poll(handled).toBe("handled");
    const counts = await app.receiver.inbox.counts();
    expect(counts.handled + counts.dead).toBe(sent.length);
    expect(new Set(sent).size).toBe(sent.length);
    await app.receiver.close();
  });
});

function written(name: string, content: string): string {
  writeFileSync(join(folder, name), content);
  return name;
}

function linked(name: string, target: string): string {
  symlinkSync(target, join(folder, name));
  return name;
}

/** A database that has nothing to do with us. */
function madeBy(name: string): string {
  const script = `const D = require("libsql"); new D(${JSON.stringify(join(folder, name))}).exec("CREATE TABLE t (a)")`;
  execFileSync(process.execPath, ["-e", script], { cwd: "packages/sqlite" });
  return name;
}
