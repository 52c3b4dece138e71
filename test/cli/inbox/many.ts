import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Entry } from "@reporthook/core";
import { describeWith, missingProgram, testWith } from "@reporthook/test-support/needs";
import { serve } from "@reporthook/test-support/service-calls";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { beforeEach, describe, expect, it } from "vitest";
import { openApp } from "../app.ts";
import {
  cli,
  cliFails,
  cliJson,
  type Failed,
  nodeOnTerminal,
  programFile,
  startOnTerminal,
} from "../process.ts";

const folder = temporaryFolder();

const payload = { report_id: "r-1", status: "complete" };
const recorded = { event_type: "report_status_changed", payload, api_key: "sk-live-0123456789" };
let folders = 0;
let cwd: string;
let ids: Readonly<Record<"failed" | "forgotten" | "unknown", string>>;

/** The output of `list --json`. */
interface Listed {
  readonly entries: readonly Entry[];
}

async function listed(...args: string[]): Promise<readonly string[]> {
  const { value } = await cliJson<Listed>(["inbox", "list", ...args], { cwd });
  return value.entries.map(({ id }) => id);
}

// An app that failed for different reasons, in a folder that holds its inbox.
beforeEach(async () => {
  cwd = join(folder, String(folders++));
  mkdirSync(cwd);
  const { receiver, send, finish } = openApp(join(cwd, "inbox.db"), { retry: { attempts: 1 } });
  receiver.on(["report.complete", "report.internal_error"], () => {
    throw new Error("connect ECONNREFUSED 10.0.0.7:5432\u001b[31m\nand more");
  });
  ids = {
    failed: await send("report.complete", { body: recorded }),
    forgotten: await send("report.internal_error"),
    unknown: await send("unknown"),
  };
  await finish();
});

describe("the folder of an app", () => {
  it("reporthook inbox finds its file, says which, and shows the error", async () => {
    const { code, out, err } = await cli(["inbox", "list", "--state", "parked"], { cwd });
    expect(code).toBe(0);
    expect(out).toMatch(/dead +report\.complete +r-1 +connect ECONN/);
    expect(err).toMatch(/^The inbox is inbox\.db\.\n/);
    const shown = await cli(["inbox", "show", ids.failed], { cwd });
    expect(shown.out).toMatch(
      /^error +connect ECONNREFUSED 10\.0\.0\.7:5432\\u001b\[31m\nreason /m,
    );
  });

  it("reporthook inbox takes the playground's file where there is no other, and says that there is none", async () => {
    const other = join(cwd, "other");
    mkdirSync(join(other, ".reporthook"), { recursive: true });
    const none = await cli(["inbox", "list"], { cwd: other });
    expect([none.code, none.out]).toEqual([2, ""]);
    expect(none.err).toContain("neither inbox.db nor .reporthook/dev.db");
    symlinkSync(join(cwd, "inbox.db"), join(other, ".reporthook/dev.db"));
    const { code, err } = await cli(["inbox", "stats"], { cwd: other });
    expect(code).toBe(0);
    expect(err).toMatch(/^The inbox is .reporthook\/dev.db.\n/);
    // The app's own is meant, although it can't be read any more.
    writeFileSync(join(other, "inbox.db-damaged"), "x");
    const set = "There is no inbox inbox.db, but inbox.db-damaged: the app has set it aside";
    await cliFails(1, ["inbox", "stats"], set, { cwd: other });
  });

  it("reporthook inbox list filters and turns round", async () => {
    const { failed, forgotten, unknown } = ids;
    expect(await listed("--newest-first")).toEqual([unknown, forgotten, failed]);
    expect(await listed("--reason", "attempts_used_up")).toEqual([failed, forgotten]);
    expect(await listed("--type", "report.internal_error")).toEqual([forgotten]);
    expect(await listed("--report-id", "r-1")).toEqual([failed]);
    expect(await listed("--since", "2h", "--state", "held")).toEqual([unknown]);
    expect(await listed("--since", "2100-01-01")).toEqual([]);
    expect(await listed("--until", "2h")).toEqual([]);
    expect(await listed("--until", "2100-01-01")).toEqual([failed, forgotten, unknown]);
    await cliFails(2, ["inbox", "list", "--since", "yesterday"], "30min, 2h or 7d", { cwd });
    await cliFails(
      2,
      ["inbox", "list", "--reason", "atempts-used"],
      "Did you mean attempts_used_up",
      { cwd },
    );
  });

  it("reporthook inbox errors groups parked deliveries by error, and a group's key chooses in list, release and discard", async () => {
    const { out, err } = await cli(["inbox", "errors"], { cwd });
    expect(out).toMatch(/^KEY +DELIVERIES +OLDEST +NEWEST +REASONS +ERROR\n/);
    const [, key = "", text] = /^(\w{8}) +2 .+ +attempts_used_up +(.*)$/m.exec(out) ?? [];
    expect(text).toBe("Error: connect ECONNREFUSED 10.0.0.7:5432\\u001b[31m");
    expect(err).toContain(`inbox release --error ${key} --db inbox.db`);
    const stats = await cli(["inbox", "stats"], { cwd });
    expect(stats.out).toContain("Errors:      2 × Error: connect");
    expect(stats.out).toContain(`(--error ${key})`);
    expect(await listed("--error", key)).toEqual([ids.failed, ids.forgotten]);
    const sure = ["inbox", "discard", "--error", key, "--yes"];
    expect(await cliJson(sure, { cwd })).toEqual({ code: 0, value: { discarded: 2 } });
    expect((await cli(["inbox", "errors"], { cwd })).out).toBe("Nothing.\n");
  });

  it("reporthook inbox list shows report and request, cuts nothing where there is no terminal, and takes dates as UTC", async () => {
    const { out } = await cli(["inbox", "list"], { cwd, env: { COLUMNS: "60" } });
    expect(out).toMatch(/^ID +AGE +STATE +EVENT +REPORT +WHY$/m);
    expect(out).toMatch(
      / report\.complete +r-1 +connect ECONNREFUSED 10\.0\.0\.7:5432.+\(attempts_used_up\)$/m,
    );
    const at = new Date(Date.now() + 60_000).toISOString();
    expect(await listed("--until", at)).toHaveLength(3);
    const since = async (when: string, TZ: string): Promise<number> => {
      const args = ["inbox", "list", "--since", when];
      return (await cliJson<Listed>(args, { cwd, env: { TZ } })).value.entries.length;
    };
    // The next minute is hours ago in Tokyo, and the hour before is to come in Honolulu.
    expect(await since(at.slice(0, 16), "Asia/Tokyo")).toBe(0);
    const before = new Date(Date.now() - 3_600_000).toISOString();
    expect(await since(before.slice(0, 16), "Pacific/Honolulu")).toBe(3);
  });

  it("reporthook inbox erase removes the content about a report, after a yes, and backup copies the file before", async () => {
    const erase = ["inbox", "erase", "--report-id", "r-1"];
    const copied = await cli(["inbox", "backup", "copy.db"], { cwd });
    expect([copied.code, copied.out]).toEqual([0, "Copied to copy.db.\n"]);
    await cliFails(1, ["inbox", "backup", "copy.db"], "copy.db exists", { cwd });
    expect((await cli(["inbox", "backup", "copy.db", "--overwrite"], { cwd })).code).toBe(0);
    await cliFails(
      1,
      ["inbox", "backup", "./inbox.db", "--overwrite"],
      "inbox itself: name another",
      { cwd },
    );
    await cliFails(2, erase, "1 delivery would be erased: add --yes", { cwd });
    const value = { erased: 1, requests: 0 };
    expect(await cliJson([...erase, "--yes"], { cwd })).toEqual({ code: 0, value });
    const shown = await cliJson<{ body: null; reason: object }>(["inbox", "show", ids.failed], {
      cwd,
    });
    expect(shown.value).toMatchObject({ body: null, state: "dead", reason: { code: "erased" } });
    expect(JSON.stringify(shown.value)).not.toContain("ECONNREFUSED");
    const kept = await cli(["inbox", "show", ids.failed, "--db", "copy.db"], { cwd });
    expect(kept.out).toContain("sk-live-0123456789");
    expect((await cli(["inbox", "erase"], { cwd })).code).toBe(2);
  });

  it("an id of a delivery may be cut short, unless that means several", async () => {
    const { failed, unknown } = ids;
    let length = 1;
    const cut = (id: string): string => id.slice(0, length);
    while (new Set(Object.values(ids).map(cut)).size < 3) length++;
    const { out } = await cli(["inbox", "show", cut(failed).toUpperCase()], { cwd });
    expect(out).toContain(failed);
    expect((await cli(["inbox", "release", cut(unknown)], { cwd })).out).toBe(
      `${unknown} released\n`,
    );
    const many = await cliJson<Failed>(["inbox", "discard", failed.slice(0, 4)], { cwd });
    expect(many.code).toBe(1);
    for (const id of Object.values(ids)) expect(many.value.error.message).toContain(id);
    for (const id of ["", "zzz", `${failed}0`, "%", "_"]) {
      expect([id, (await cli(["inbox", "discard", id], { cwd })).code]).toEqual([id, 1]);
    }
    expect(await listed()).toHaveLength(3);
  });

  it.each([
    ["release", "released"],
    ["discard", "discarded"],
  ])("reporthook inbox %s --all fails unasked without --yes", async (verb, done) => {
    for (const json of [[], ["--json"]]) {
      const { code, out, err } = await cli(["inbox", verb, "--all", ...json], { cwd });
      expect(code).toBe(2);
      expect(out + err).toContain(
        `3 deliveries (2 attempts_used_up, 1 no_handler) would be ${done}: add --yes`,
      );
    }
    expect(await listed("--state", "parked")).toHaveLength(3);
    const sure = await cliJson(["inbox", verb, "--all", "--yes"], { cwd });
    expect(sure).toEqual({ code: 0, value: { [done]: 3 } });
    expect(await listed("--state", "parked")).toEqual([]);
  });

  it("reporthook inbox release --all leaves out unvouched deliveries, and says so, unless their reason is named", async () => {
    const { receiver, send } = openApp(join(cwd, "inbox.db"), { autostart: false });
    await send("report", { signature: "none" });
    await receiver.close();
    const all = ["inbox", "release", "--all", "--yes"];
    const { code, out, err } = await cli(all, { cwd });
    expect([code, out]).toEqual([0, "Released 3.\n"]);
    expect(err).toContain("Left out: 1 delivery that nobody vouches for (unsigned).");
    const again = await cliJson(all, { cwd });
    expect(again.value).toEqual({ released: 0, leftOut: { unsigned: 1 } });
    const named = await cliJson(["inbox", "release", "--reason", "unsigned", "--yes"], { cwd });
    expect(named).toEqual({ code: 0, value: { released: 1 } });
  });

  it("reporthook inbox acts tells who discarded how many by which selection", async () => {
    const kind = ["inbox", "discard", "--reason", "attempts_used_up"];
    const sure = await cli([...kind, "--yes"], { cwd });
    expect([sure.code, sure.out]).toEqual([0, "Discarded 2.\n"]);
    expect(await listed("--state", "parked")).toEqual([ids.unknown]);
    const rest = await cliJson(["inbox", "discard", "--all", "--yes"], { cwd });
    expect(rest).toEqual({ code: 0, value: { discarded: 1 } });
    const acts = await cli(["inbox", "acts"], { cwd });
    const by = `${userInfo().username}@${hostname()}`;
    expect(acts.out).toMatch(/^TIME +BY +ACT +DELIVERIES +SELECTION\n/);
    expect(acts.out).toContain(` ${by}  discard  1           all\n`);
    expect(acts.out).toContain(` ${by}  discard  2           reason attempts_used_up\n`);
    expect((await cliJson(["inbox", "acts", "--limit", "1"], { cwd })).value).toEqual({
      acts: [{ at: expect.any(String), by, act: "discard", selection: {}, count: 1 }],
    });
    // Nobody is asked about nothing.
    expect(await cliJson(kind, { cwd })).toEqual({ code: 0, value: { discarded: 0 } });
  });

  it("reporthook inbox export writes a fixture without secrets, which trigger sends", async () => {
    const bodies: string[] = [];
    const url = await serve(async (req, res) => {
      bodies.push(await text(req));
      res.end("{}");
    });
    const to = `${url}/hook`;
    const exported = await cli(["inbox", "export", ids.failed], { cwd });
    expect(JSON.parse(exported.out)).toMatchObject({
      type: "report.complete",
      headers: { "content-type": "application/json" },
      body: { ...recorded, api_key: "[removed]" },
    });
    writeFileSync(join(cwd, "fixture.json"), exported.out);
    const sent = await cliJson(["trigger", "--from", "fixture.json", "--to", to], { cwd });
    expect(sent).toMatchObject({ code: 0, value: { name: "report.complete", status: 200 } });
    expect(JSON.parse(bodies[0] ?? "")).toEqual(JSON.parse(exported.out).body);

    await cliFails(1, ["trigger", "--from", "none.json", "--to", to], "ENOENT", { cwd });
  });

  it.each([
    ["release", "released"],
    ["discard", "discarded"],
  ])("reporthook inbox %s takes an id that is given twice once", async (verb, done) => {
    const { failed } = ids;
    const given = [failed, failed.toUpperCase(), "nobody", failed.slice(0, 25), "nobody"];
    const { value } = await cliJson<Failed>(["inbox", verb, ...given], { cwd });
    expect(value).toMatchObject({ [done]: [failed], failed: [{ id: "nobody" }] });
    expect(value.error.message.match(/nobody/g)).toHaveLength(1);
    const twice = ["inbox", verb, ids.unknown, ids.unknown];
    expect(await cli(twice, { cwd })).toMatchObject({ code: 0, out: `${ids.unknown} ${done}\n` });
  });

  it("reporthook inbox discard takes ids cut short as they were before it began", async () => {
    let length = 1;
    while (ids.failed.slice(0, length + 1) === ids.forgotten.slice(0, length + 1)) length++;
    const given = [ids.failed, ids.unknown, ids.forgotten.slice(0, length)];
    const { value } = await cliJson(["inbox", "discard", ...given], { cwd });
    expect(value).toMatchObject({ error: { message: expect.stringContaining("Several ids") } });
    expect(await listed()).toEqual([ids.forgotten]);
  });

  it("reporthook inbox release runs handled deliveries, too, if told", async () => {
    const { receiver, send, finish } = openApp(join(cwd, "inbox.db"));
    receiver.on("report.processing", () => {});
    await send("report.processing");
    await finish();
    const handled = await listed("--state", "handled");
    expect(handled).toHaveLength(1);
    const release = ["inbox", "release", "--state", "handled", "--yes"];
    expect(await cliJson(release, { cwd })).toEqual({ code: 0, value: { released: 1 } });
    expect(await listed("--state", "verified")).toEqual(handled);
  });

  const noScript = missingProgram("script", "bsdutils");
  testWith(noScript)("reporthook inbox discard asks on a terminal", async () => {
    const answer = (input: string): string => {
      const discard = [programFile(), "inbox", "discard", "--all"];
      return nodeOnTerminal(discard, { cwd, input, columns: 200, env: { NO_COLOR: "1" } }).shown;
    };
    const question =
      "Discard 3 deliveries (2 attempts_used_up, 1 no_handler)? They are deleted for good. [y/N]";
    const no = answer("n\n");
    expect(no).toContain(question);
    expect(no).toContain("Nothing is discarded");
    // Ctrl-D.
    expect(answer("\u0004")).toContain("Nothing is discarded");
    expect(await listed()).toHaveLength(3);
    expect(answer("y\n")).toContain("Discarded 3.");
    expect(await listed()).toHaveLength(0);
  });

  describeWith(noScript)("on a terminal", () =>
    it.each([
      ["discard", "They are deleted for good. ", "Discarded"],
      ["release", "", "Released"],
    ])(
      "reporthook inbox %s after a yes acts on the deliveries shown, and leaves those alone that have changed meanwhile",
      async (verb, note, done) => {
        const asking = startOnTerminal(["inbox", verb, "--reason", "attempts_used_up"], { cwd });
        await asking.shown(`2 deliveries (attempts_used_up)? ${note}[y/N]`);
        // Somebody else releases one; it fails again.
        const { receiver, finish } = openApp(join(cwd, "inbox.db"), { retry: { attempts: 1 } });
        receiver.on("report.complete", () => {
          throw new Error("again");
        });
        await receiver.start();
        await receiver.inbox.release(ids.failed, { by: "ada" });
        await finish();
        expect(await listed("--reason", "attempts_used_up")).toHaveLength(2);
        asking.press("y\n");
        const { code, text } = await asking.ended();
        expect(code).toBe(0);
        expect(text).toContain(`${done} 1; 1 has changed meanwhile: left alone.`);
        expect(await listed("--reason", "attempts_used_up")).toEqual([ids.failed]);
        const { out } = await cli(["inbox", "show", ids.failed], { cwd });
        expect(out).toMatch(/release {2}by ada$/m);
      },
    ),
  );
});
