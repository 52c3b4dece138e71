import {
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { createReceiver } from "@reporthook/core";
import { Lookout, toolView } from "@reporthook/core/store";
import { fixtureOf } from "@reporthook/test-support/fixture";
import { testWith } from "@reporthook/test-support/needs";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { endedAs, handled, later, valid } from "@reporthook/testing/internals";
import { describe, expect, it } from "vitest";
import { sqliteInbox } from "./index.ts";

const folder = temporaryFolder();
let files = 0;
const newPath = (): string => join(folder, `${++files}.db`);
const linkedTo = (file: string, link: (from: string, to: string) => void): string => {
  const path = newPath();
  link(file, path);
  return path;
};

const told = "Ada Lovelace";
const body = (reportId: string): string =>
  JSON.stringify({ payload: { report_id: reportId, status: "complete", customer: told } });

describe("erasing", () => {
  it("erase() removes the content of a report's deliveries, in every state, and keeps their number", async () => {
    const path = newPath();
    const { inbox, put, work, act, clock, end } = fixtureOf(sqliteInbox(path));
    const parts = { body: body("r-1"), context: JSON.stringify({ customer: told }) };
    const error = `Error: ${told} has no account`;
    const ids: Record<string, string> = {};
    ids["rejected"] = await put(parts);
    await work("verify", endedAs("rejected", "invalid_signature"));
    ids["held"] = await put(parts);
    await work("verify", endedAs("held", "not_verified", { error }));
    ids["handled"] = await put(parts);
    await work("verify", valid);
    await work("handle", later(0, { error }), handled);
    ids["dead"] = await put(parts);
    await work("verify", valid);
    await work("handle", endedAs("dead", "attempts_used_up", { error }));
    ids["verified"] = await put(parts);
    await work("verify", valid);
    await work("handle", later(3_600_000, { error }));
    ids["received"] = await put(parts);
    const other = await put({ body: body("r-2") });
    const before = await inbox.counts();
    const query = { reportId: "r-1", now: clock.now(), by: "ada@host" };
    expect(await inbox.erase?.({ ...query, dryRun: true })).toBe(6);
    expect(await inbox.counts()).toEqual(before);
    expect(await inbox.erase?.(query)).toBe(6);
    expect(await inbox.erase?.(query)).toBe(0);
    expect(await inbox.counts()).toEqual({ ...before, received: 1, verified: 0, dead: 3 });
    for (const [state, id] of Object.entries(ids)) {
      const entry = await inbox.get(id);
      expect(JSON.stringify(entry), state).not.toContain(told);
      expect(entry?.body, state).toBeNull();
      expect(entry?.history.at(-1)).toMatchObject({ act: "erase", by: "ada@host" });
      await expect(act("release", id), state).rejects.toMatchObject({ code: "not_releasable" });
    }
    expect((await inbox.get(ids["received"] ?? ""))?.reason?.code).toBe("erased");
    expect((await inbox.get(other))?.body).toBe(body("r-2"));
    expect(await inbox.acts()).toMatchObject([
      { act: "erase", by: "ada@host", selection: { reportId: "r-1" }, count: 6 },
    ]);
    await end();
    expect(readFileSync(path).includes(told.slice(0, 9))).toBe(true);
    expect(readFileSync(path).toString("latin1").split(told).length - 1).toBe(1);
  });

  it.each([0, 1])("erase() finds an unsigned test by its body, handled %d times", async (times) => {
    const { inbox, put, work, clock } = fixtureOf(sqliteInbox(newPath()));
    const test = { type: "test_webhook_endpoint", reportId: null } as const;
    const arrival = { to: "verified", verification: "unsigned", ...test } as const;
    const ids = [];
    for (const report of ["r-1", "r-2"]) {
      ids.push(await put({ signature: null, body: body(report), arrival }));
      if (times > 0) await work("handle", handled);
    }
    const query = { reportId: "r-1", now: clock.now(), by: null };
    expect(await inbox.erase?.(query)).toBe(1);
    const bodies = await Promise.all(ids.map(async (id) => (await inbox.get(id))?.body));
    expect(bodies).toEqual([null, body("r-2")]);
  });

  it("erase() of a report finds the other deliveries of its requests, and counts each once", async () => {
    const { inbox, put, work, clock } = fixtureOf(sqliteInbox(newPath()));
    const error = `Error: ${told} has no account`;
    const of = { requestId: "q-7", body: "{}" };
    const ids = [await put(of), await put({ ...of, body: body("r-7") })];
    await work("verify", endedAs("held", "not_verified", { error }));
    await work("verify", { ...valid, reportId: "r-7" });
    ids.push(await put({ ...of, body: body("r-7") }));
    const other = await put({ requestId: "q-8" });
    const query = { reportId: "r-7", requestIds: ["q-7"], now: clock.now(), by: null };
    expect(await inbox.erase?.({ ...query, dryRun: true })).toBe(3);
    expect(await inbox.erase?.(query)).toBe(3);
    expect(await inbox.erase?.(query)).toBe(0);
    for (const id of ids) expect(JSON.stringify(await inbox.get(id))).not.toContain(told);
    expect((await inbox.get(other))?.state).toBe("received");
    expect((await inbox.acts())[0]?.selection).toEqual({ reportId: "r-7" });
  });
});

describe("backups", () => {
  it("backup() copies an inbox that goes on storing, for its owner alone, and overwrites nothing unless told", async () => {
    const path = newPath();
    const app = fixtureOf(sqliteInbox(path));
    for (let count = 0; count < 100; count++) await app.put();
    const tool = sqliteInbox(path, { migrate: false });
    await tool.open();
    const copy = newPath();
    const storing = Array.from({ length: 50 }, () => app.put());
    await tool.backup?.(copy);
    await Promise.all(storing);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const restored = sqliteInbox(copy);
    const { received } = await restored.counts();
    expect(received).toBeGreaterThanOrEqual(100);
    expect((await restored.list({ limit: 1 }))[0]?.id).toBe((await tool.list({ limit: 1 }))[0]?.id);
    await restored.close();
    const file = newPath();
    writeFileSync(file, "mine");
    await expect(tool.backup?.(file)).rejects.toThrow(
      `${file} exists: name another file, or replace it with the option overwrite (--overwrite)`,
    );
    expect(readFileSync(file, "utf8")).toBe("mine");
    await tool.backup?.(file, { overwrite: true });
    expect(readFileSync(file).subarray(0, 6).toString()).toBe("SQLite");
    await expect(tool.backup?.(join(folder, "none", "a.db"))).rejects.toThrow("can't be copied to");
    // SQLite would take it for a part of the copy.
    writeFileSync(`${file}-wal`, "left by a reader");
    await expect(tool.backup?.(file, { overwrite: true })).rejects.toThrow(`${file}-wal is there`);
    expect(existsSync(`${file}.part-${process.pid}`)).toBe(false);
    await tool.close();
  });

  it.each(["file:copy.db", "FILE:///copy.db", "https://copy.example/db", ":memory:", ""])(
    "backup() refuses %j, which names no file",
    async (file) => {
      const { inbox, put } = fixtureOf(sqliteInbox(newPath()));
      await put();
      const before = readdirSync(".");
      await expect(inbox.backup?.(file)).rejects.toThrow(TypeError);
      await expect(inbox.backup?.(file)).rejects.toThrow("backup takes the path of a file");
      expect(readdirSync(".")).toEqual(before);
    },
  );

  it("backup() makes a copy on which no process counts as running, or as silent", async () => {
    const [path, copy] = [newPath(), newPath()];
    const receiver = createReceiver({
      client: { authorize: async () => "valid" },
      inbox: sqliteInbox(path),
      name: "copied",
      logger: false,
    });
    receiver.on("*", () => {});
    await receiver.start();
    const processesOn = async (file: string): Promise<string[]> => {
      const inbox = sqliteInbox(file, { migrate: false });
      await inbox.open();
      const lookout = new Lookout(toolView(inbox, "copied"));
      await lookout.looked();
      await inbox.close();
      return lookout.processes.map(({ state }) => state);
    };
    await expect.poll(() => processesOn(path)).toEqual(["running"]);
    const inbox = sqliteInbox(path);
    await inbox.backup?.(copy);
    await inbox.close();
    expect(await processesOn(copy)).toEqual(["ended"]);
    expect(readdirSync(folder).filter((name) => name.startsWith(`${basename(copy)}.`))).toEqual([]);
    await receiver.close();
  });

  it("backup() copies to a name with a colon in it, as that of a time has", async () => {
    const { inbox, put } = fixtureOf(sqliteInbox(newPath()));
    await put();
    const name = "copy-2026-11-28T10:00:00.000Z.db";
    const before = process.cwd();
    process.chdir(folder);
    try {
      await inbox.backup?.(name);
    } finally {
      process.chdir(before);
    }
    expect(readFileSync(join(folder, name)).subarray(0, 6).toString()).toBe("SQLite");
  });

  it.each<readonly [what: string, file: (path: string) => string]>([
    ["its own file", (path) => path],
    ["another spelling of it", (path) => relative(".", path)],
    ["a symbolic link to it", (path) => linkedTo(path, symlinkSync)],
    ["its log", (path) => `${path}-wal`],
    ["a hard link to its log", (path) => linkedTo(`${path}-wal`, linkSync)],
    ["the index of its log", (path) => `${path}-shm`],
    ["a journal beside it, which is not there", (path) => `${path}-journal`],
  ])("backup() does not write over the inbox when it is given %s", async (_, name) => {
    const path = newPath();
    const { inbox, put } = fixtureOf(sqliteInbox(path));
    const id = await put();
    const files = (): unknown => [
      readdirSync(folder).sort(),
      ["", "-wal", "-shm"].map((end) => statSync(path + end).ino),
    ];
    const file = name(path);
    const before = files();
    for (const overwrite of [true, false]) {
      const refused = inbox.backup?.(file, { overwrite });
      await expect(refused).rejects.toMatchObject({
        code: "inbox_failed",
        message: `${file} is a file of the inbox itself: name another file`,
      });
    }
    expect(files()).toEqual(before);
    expect((await inbox.get(await put()))?.state).toBe("received");
    expect((await inbox.list({ limit: 1 }))[0]?.id).toBe(id);
  });

  testWith(process.platform === "linux" ? null : "/proc needs Linux")(
    "backup() leaves no connection open, which would delete the log of an app that was killed since",
    async () => {
      const file = newPath();
      const inbox = sqliteInbox(file);
      await inbox.open();
      await inbox.backup?.(newPath());
      await inbox.close();
      const open = readdirSync("/proc/self/fd").map((name) => {
        const path = `/proc/self/fd/${name}`;
        return existsSync(path) ? readlinkSync(path) : "";
      });
      expect(open.filter((path) => path.startsWith(file))).toEqual([]);
    },
  );

  it("backup() leaves no text in the copy that is erased there later", async () => {
    const { inbox, put, work, clock } = fixtureOf(sqliteInbox(newPath()));
    const secret = "Lovelace-4711";
    const stack = "    at handler (file:///srv/app/handlers.js:10:20)\n".repeat(40);
    const error = `Error: ${secret} has no account\n${stack}${secret}`;
    for (let count = 0; count < 60; count++) {
      const isMeant = count % 6 === 0;
      await put({ body: "{}" });
      await work("verify", { ...valid, reportId: isMeant ? "r-1" : "r-2" });
      await work("handle", endedAs("dead", "do_not_retry", { error: isMeant ? error : stack }));
    }
    const copy = newPath();
    await inbox.backup?.(copy);
    const restored = sqliteInbox(copy);
    const query = { reportId: "r-1", now: clock.now(), by: null };
    expect(await restored.erase?.(query)).toBe(10);
    await restored.close();
    expect(readFileSync(copy).includes(secret)).toBe(false);
  });
});
