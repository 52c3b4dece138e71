import { join } from "node:path";
import { type Authorizer, createClient, type Receiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { answering } from "@reporthook/test-support/service-calls";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { emulator, openApp } from "../app.ts";
import { cli, cliFails, cliJson, type Failed } from "../process.ts";

const folder = temporaryFolder();
const db = join(folder, "inbox.db");
const hourMs = 3_600_000;
let isBroken = true;

describe("waiting for the next try", () => {
  let receiver: Receiver;
  let id: string;
  const entry = () => receiver.inbox.get(id);

  beforeAll(async () => {
    const app = openApp(db, { retry: { attempts: 5, minMs: hourMs, maxMs: hourMs } });
    receiver = app.receiver;
    receiver.on("report.complete", () => {
      if (isBroken) throw new Error("boom");
    });
    id = await app.send("report.complete");
    const failed = async () => expect((await entry())?.lastError).toMatch(/^Error: boom$/m);
    await vi.waitFor(failed, { timeout: 60_000 });
  });
  afterAll(() => receiver.close());

  it("reporthook inbox show tells that a delivery failed and is tried again", async () => {
    const { out } = await cli(["inbox", "show", id, "--db", db]);
    expect(out).toMatch(/handle {2}failed in [\d.]+ ms, retried: Error: boom/);
  });

  it("reporthook inbox release points to retry", async () => {
    const { code, err } = await cli(["inbox", "release", id, "--db", db]);
    expect([code, err]).toEqual([1, expect.stringContaining("; inbox retry retries")]);
  });

  it("reporthook inbox retry refuses a delivery that belongs to another receiver or is not there", async () => {
    await cliFails(1, ["inbox", "retry", id, "--receiver", "mine", "--db", db], "--receiver");
    await cliFails(1, ["inbox", "retry", "nobody", "--db", db], "inbox list");
    expect((await entry())?.state).toBe("verified");
  });

  it("reporthook inbox retry has the app that runs try a delivery at once, its attempts counted on", async () => {
    isBroken = false;
    const { code, out } = await cli(["inbox", "retry", id, "--db", db]);
    expect([code, out]).toEqual([0, `${id} retried\n`]);
    await expect.poll(async () => (await entry())?.state).toBe("handled");
    expect((await entry())?.attempts).toBe(2);

    const again = await cliJson<Failed>(["inbox", "retry", id, "--db", db]);
    expect(again.code).toBe(1);
    expect(again.value).toMatchObject({ retried: [], failed: [{ id }] });
    expect(again.value.error.code).toBe("not_retried");
    const released = await cli(["inbox", "release", id, "--receiver", "mine", "--db", db]);
    expect(released.err).not.toContain("inbox retry");
  });

  it.each([
    ["list", []],
    ["stats", []],
    ["release", ["--reason", "poison"]],
  ])("reporthook inbox %s warns of a receiver of which there is nothing", async (command, more) => {
    const args = ["inbox", command, ...more, "--db", db, "--receiver"];
    const nobodys = await cli([...args, "nope"]);
    expect(nobodys.code).toBe(0);
    expect(nobodys.err).toBe(
      `${db} has no deliveries of receiver nope: name the app's receiver with --receiver\n`,
    );
    expect((await cli([...args, "reports"])).err).toBe("");
    expect((await cliJson([...args, "nope"])).code).toBe(0);
  });
});

describe("waiting for the right API key", () => {
  it("reporthook inbox stats tells that the key is refused, though the app has ended", async () => {
    const file = join(folder, "refused.db");
    const baseUrl = await answering(401, { "retry-after": "60" });
    const client = createClient({ baseUrl, apiKey: "another-key" });
    const { receiver, send } = openApp(file, { name: "mine", client });
    receiver.on("*", () => {});
    for (let sent = 0; sent < 3; sent++) await send("report.complete");
    const waits = async () => {
      const asked = await receiver.inbox.list({ state: "received" });
      expect(asked.filter(({ lastError }) => lastError !== null)).toHaveLength(3);
    };
    await vi.waitFor(waits, { timeout: 60_000 });
    await receiver.close();
    const { out } = await cli(["inbox", "stats", "--receiver", "mine", "--db", file]);
    expect(out.replaceAll(/\s+/g, " ")).toMatch(
      /^critical: key_refused, for .*: The service refuses the API key, .* 3 deliveries wait, /,
    );
    expect(out).toMatch(/^Look: .* inbox list --state received --receiver mine/m);
    expect(out).toContain(`--db ${file}`);
  });
});

describe("the key of another account", () => {
  it("reporthook inbox retry --state rejected has all asked about again once the key is right: young ones are handled, older ones held", async () => {
    const file = join(folder, "rejected.db");
    const other = createEmulator({ apiKey: "key-of-another-account" });
    let authorize = createClient(other.clientOptions).authorize;
    const handled: string[] = [];
    const client: Authorizer = { authorize: (...given) => authorize(...given) };
    const { receiver, send } = openApp(file, { client, name: "accounts" });
    receiver.on("report.complete", ({ id }) => void handled.push(id));
    for (let sent = 0; sent < 20; sent++) await send("report.complete");
    emulator.clock.advance(301_000);
    for (let sent = 0; sent < 30; sent++) await send("report.complete");
    const counts = () => receiver.inbox.counts();
    await vi.waitFor(async () => expect(await counts()).toMatchObject({ rejected: 50 }), 60_000);
    authorize = createClient(emulator.clientOptions).authorize;
    const retry = ["inbox", "retry", "--state", "rejected", "--receiver", "accounts", "--db", file];
    await cliFails(2, retry, "50 deliveries (invalid_signature) would be retried: add --yes");
    expect(await cli([...retry, "--yes"])).toMatchObject({ code: 0, out: "Retried 50.\n" });
    const ended = { received: 0, verified: 0, handled: 30, held: 20, rejected: 0, dead: 0 };
    await vi.waitFor(async () => expect(await counts()).toEqual(ended), 60_000);
    expect(new Set(handled).size).toBe(30);
    const held = await receiver.inbox.list({ state: "held" });
    expect(new Set(held.map(({ reason }) => reason?.code))).toEqual(new Set(["expired"]));
    emulator.reset();
    await receiver.close();
  });
});
