import { join } from "node:path";
import { createReceiver, type Receiver } from "@reporthook/core";
import { sqliteInbox } from "@reporthook/sqlite";
import { patient } from "@reporthook/test-support/patient";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, cliFails, cliJson, commandsIn, type Failed } from "./process.ts";

const folder = temporaryFolder();
const db = join(folder, "inbox.db");
const seen: unknown[] = [];

const report = { domains: ["example.com"] };
const context = { customer: "c-1", api_key: "hush" };

function openReceiver(file: string, name?: string): Receiver {
  return createReceiver({
    client: {
      authorize: async () => "valid",
      requestReport: async () => ({ status: 202, body: 1 }),
    },
    inbox: sqliteInbox(file),
    callback: { secrets: ["0123456789abcdef0123456789abcdef"], url: "https://app.example/hook" },
    logger: false,
    ...patient,
    ...(name !== undefined && { name }),
  });
}

describe("reports that were asked for", () => {
  let id: string;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = openReceiver(db);
    receiver.on("*", (event) => void seen.push(event));
    const options = { context, idempotencyKey: "k-1", overdueMs: 1 };
    ({ id } = await receiver.reports.request(report, options));
    await receiver.reports.request({ domains: ["b.example"] });
    await receiver.start();
    await receiver.idle({ timeoutMs: 60_000 });
  });

  afterAll(() => receiver.close());

  it("reporthook reports list shows each with its state, and those that are overdue", async () => {
    const { out } = await cli(["reports", "list", "--db", db]);
    expect(out).toMatch(new RegExp(`${id} .* open +overdue .* k-1 +\\{"customer":"c-1",`));
    const { value } = await cliJson<{ requests: object[] }>([
      "reports",
      "list",
      "--state",
      "overdue",
      "--db",
      db,
    ]);
    expect(value.requests).toMatchObject([{ id, state: "open", context }]);
    const { err } = await cli(["reports", "list", "--receiver", "nope"], { cwd: folder });
    expect(err).toContain("\ninbox.db has no deliveries of receiver nope:");
  });

  it("reporthook reports show prints a request with its deliveries, by the beginning of its id", async () => {
    const { out } = await cli(["reports", "show", id.slice(0, 25), "--db", db]);
    expect(out).toContain('"domains":["example.com"]');
    expect(out).toContain("report.overdue");
    const { entries } = (
      await cliJson<{ entries: { id: string }[] }>(["inbox", "list", "--db", db])
    ).value;
    const shown = await cliJson(["inbox", "show", entries[0]?.id ?? "", "--db", db]);
    expect(shown.value).toMatchObject({ requestId: id, context });
    const text = await cli(["inbox", "show", entries[0]?.id ?? "", "--db", db]);
    expect(text.out).toMatch(
      new RegExp(`^request +${id}\ncontext +\\{"customer":"c-1",.+\\}$`, "m"),
    );
    await cliFails(1, ["reports", "show", "nobody", "--db", db], "No request");
  });

  it("reporthook reports settle has the handlers of the app run once", async () => {
    await cliFails(2, ["reports", "settle", id, "done", "--db", db], "complete, internal_");
    const given = ["reports", "settle", id, "complete", "--body", '{"file":"r"}', "--db", db];
    expect((await cli(given)).code).toBe(0);
    await receiver.idle({ timeoutMs: 60_000 });
    expect(seen.at(-1)).toMatchObject({
      requestId: id,
      verification: "settled",
      body: { file: "r" },
    });
    const ofRequest = ["inbox", "list", "--request-id", id, "--db", db];
    const listed = await cli(ofRequest);
    expect(listed.out).toMatch(/^ID +AGE +STATE +EVENT +REQUEST\n/);
    expect(listed.out).toMatch(
      new RegExp(`report\\.overdue +${id}\\n.* report\\.complete +${id}\\n$`),
    );
    const { entries } = (await cliJson<{ entries: { id: string }[] }>(ofRequest)).value;
    const exported = await cliJson(["inbox", "export", `${entries[1]?.id}`, "--db", db]);
    expect(exported.value).toMatchObject({
      type: "report.complete",
      context: { ...context, api_key: "[removed]" },
      body: { file: "r" },
    });
    await cliFails(1, given, "is complete already");
    const other = await cliJson<Failed>(["reports", "settle", id, "internal_error", "--db", db]);
    expect(other).toMatchObject({ code: 1, value: { id, settled: false } });
    expect(other.value.error).toMatchObject({ code: "settled" });
  });

  it("reporthook inbox erase removes the content of a request, too, and the request stays", async () => {
    const unknown = ["inbox", "erase", "--request-id", "0zz", "--yes", "--db", db];
    expect(await cliJson<Failed>(unknown)).toMatchObject({
      code: 1,
      value: { error: { code: "not_found" } },
    });
    // Its beginning will do, as elsewhere.
    const erase = ["inbox", "erase", "--request-id", id.slice(0, 24), "--db", db];
    const asked = await cli(erase);
    const question = "2 deliveries and 1 request would be erased: add --yes";
    expect([asked.code, asked.err]).toEqual([2, expect.stringContaining(question)]);
    const erased = await cli([...erase, "--yes"]);
    expect([erased.code, erased.out]).toEqual([0, "Erased 2 deliveries and 1 request.\n"]);
    const none = await cliJson([...erase, "--yes"]);
    expect(none).toEqual({ code: 0, value: { erased: 0, requests: 0 } });
    const { value } = await cliJson(["reports", "show", id, "--db", db]);
    const nothing = { report: {}, context: null, idempotencyKey: null, answer: null };
    expect(value).toMatchObject({ id, state: "complete", ...nothing });
    expect(JSON.stringify(value)).not.toMatch(/c-1|example\.com|k-1/);
  });
});

describe("requests of two receivers in one inbox", () => {
  const file = join(folder, "two.db");
  const ids: Record<string, string> = {};
  const asked = async (...args: string[]): Promise<readonly string[]> => {
    const list = ["reports", "list", ...args, "--db", file];
    const { value } = await cliJson<{ requests: { id: string }[] }>(list);
    return value.requests.map(({ id }) => id);
  };

  beforeAll(async () => {
    for (const name of ["shop", "reports"]) {
      const receiver = openReceiver(file, name);
      receiver.on("*", () => {});
      ({ id: ids[name] = "" } = await receiver.reports.request(report, { overdueMs: 1 }));
      await receiver.start();
      await receiver.idle({ timeoutMs: 60_000 });
      await receiver.close();
    }
  });

  it("reporthook reports list shows those of all receivers, or of one that is named", async () => {
    expect(await asked()).toEqual([ids["shop"], ids["reports"]]);
    for (const after of [`${ids["shop"]}`, `${ids["shop"]}`.slice(0, 25)]) {
      expect(await asked("--limit", "1", "--after", after)).toEqual([ids["reports"]]);
    }
    for (const name of ["shop", "reports"]) {
      expect(await asked("--receiver", name)).toEqual([ids[name]]);
    }
  });

  it("reporthook inbox stats tells commands that work as they are typed, for each receiver", async () => {
    const { out } = await cli(["inbox", "stats", "--db", file]);
    const commands = commandsIn(out);
    expect(commands).toHaveLength(2);
    for (const command of commands) {
      expect(command.slice(0, 4)).toEqual(["reports", "list", "--state", "overdue"]);
      const name = command.includes("--receiver") ? "shop" : "reports";
      expect((await cli(command)).out).toContain(ids[name]);
    }
  });

  it("reporthook reports show and settle find a request by its id, whichever receiver has it", async () => {
    const id = `${ids["shop"]}`;
    const shown = await cliJson(["reports", "show", id.slice(0, 25), "--db", file]);
    expect(shown.value).toMatchObject({ id, deliveries: [{ type: "report.overdue" }] });
    const settle = ["reports", "settle", id, "complete", "--db", file];
    await cliFails(1, [...settle, "--receiver", "reports"], "No request");
    expect(await cliJson(settle)).toEqual({ code: 0, value: { id, settled: true } });
    const stored = ["inbox", "list", "--state", "verified", "--receiver", "shop", "--db", file];
    const { value } = await cliJson(stored);
    expect(value).toMatchObject({ entries: [{ requestId: id, type: "report.complete" }] });
    expect(await asked("--state", "complete")).toEqual([id]);
  });

  it("reporthook reports settle says that no handler runs for a request that was erased", async () => {
    const id = `${ids["reports"]}`;
    const erased = await cli(["inbox", "erase", "--request-id", id, "--yes", "--db", file]);
    expect(erased.out).toContain("1 request");
    const settled = await cli(["reports", "settle", id, "complete", "--db", file]);
    expect(settled.out).toBe(`${id} is complete. It was erased: no handler runs.\n`);
  });
});
