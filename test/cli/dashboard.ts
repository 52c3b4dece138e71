import { existsSync } from "node:fs";
import { join } from "node:path";
import { createClient, createReceiver, DoNotRetry, type Receiver } from "@reporthook/core";
import { createEmulator } from "@reporthook/emulator";
import { sqliteInbox } from "@reporthook/sqlite";
import { ask } from "@reporthook/test-support/asking";
import { patient } from "@reporthook/test-support/patient";
import { temporaryFolder } from "@reporthook/test-support/temporary";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cliFails, type Running, startCli, widest } from "./process.ts";

const folder = temporaryFolder();

const key = "geheim-0123456789";
const setting = { cwd: folder, env: { REPORTS_API_KEY: key } };
const emulator = createEmulator({ apiKey: key });

/** An app whose handler throws DoNotRetry until `fix()` is called. */
function openApp(db: string, name = "reports"): { receiver: Receiver; fix(): void } {
  const client = createClient(emulator.clientOptions);
  const inbox = sqliteInbox(join(folder, db));
  const receiver = createReceiver({ client, inbox, name, logger: false, ...patient });
  let isBroken = true;
  receiver.on("report.complete", () => {
    if (isBroken) throw new DoNotRetry("it is gone");
  });
  return {
    receiver,
    fix() {
      isBroken = false;
    },
  };
}

async function send(receiver: Receiver): Promise<string> {
  const sent = emulator.notification("report.complete", { reportId: "r-1" });
  const answer = await receiver.fetch(new Request("http://app/hook", sent));
  await receiver.idle({ timeoutMs: 60_000 });
  return ((await answer.json()) as { id: string }).id;
}

async function startDashboard(...args: string[]): Promise<{ running: Running; url: string }> {
  const running = startCli(["dashboard", "--port", "0", ...args], setting);
  const text = await running.printed(/page +\S+\n[\s\S]*inbox +\S+\n/);
  return { running, url: /page +(\S+)/.exec(text)?.[1] ?? "" };
}

async function end(running: Running, signal: NodeJS.Signals = "SIGINT"): Promise<void> {
  running.child.kill(signal);
  const { code, out, err } = await running.ended();
  expect([code, err]).toEqual([0, ""]);
  expect(out).not.toContain(key);
}

/** Expects the page, its files and its first requests to be answered; resolves to the text of all answers. */
async function expectPage(url: string): Promise<string> {
  const page = await fetch(url);
  const html = await page.text();
  expect([page.status, page.headers.get("content-type")]).toEqual([
    200,
    "text/html; charset=utf-8",
  ]);
  const files = [...html.matchAll(/(?:src|href)="(\.\/assets\/[^"]+)"/g)].map(
    ([, file = ""]) => file,
  );
  expect(files.length).toBeGreaterThanOrEqual(2);
  const addresses = [...files, "api/overview", "api/deliveries"];
  const answers = await Promise.all(addresses.map((address) => fetch(new URL(address, url))));
  expect(answers.map(({ status }) => status)).toEqual(addresses.map(() => 200));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  return [html, ...texts].join("\n");
}

/** The status of an answer to a Host that somebody points at this machine. */
async function askedAs(host: string, url: string): Promise<number> {
  return (await ask(url, { host })).status;
}

describe("the command dashboard", () => {
  let app: ReturnType<typeof openApp>;
  let id = "";
  beforeAll(async () => {
    app = openApp("inbox.db");
    id = await send(app.receiver);
  });
  afterAll(() => app.receiver.close());

  it("reporthook dashboard shows the inbox of an app that runs, to this machine, and never the key", async () => {
    const { running, url } = await startDashboard("--db", "inbox.db");
    const said = await expectPage(url);
    expect(said).toContain(id);
    const one = await (await fetch(`${url}api/deliveries/${id}`)).text();
    expect(JSON.parse(one).delivery).toMatchObject({ reportId: "r-1", state: "dead" });
    expect(said + one).not.toContain(key);
    const { port } = new URL(url);
    expect(await askedAs(`localhost:${port}`, url)).toBe(200);
    for (const address of [url, `${url}api/deliveries`]) {
      expect(await askedAs(`rebound.example:${port}`, address), address).toBe(403);
    }
    expect(widest(running.out())).toBeLessThanOrEqual(80);
    await end(running, "SIGTERM");
  });

  it("reporthook dashboard releases, which the app takes up, and tells of it", async () => {
    const { running, url } = await startDashboard("--db", "inbox.db");
    app.fix();
    const release = `${url}api/deliveries/${id}/release`;
    const headers = { "X-Reporthook": "1", "Sec-Fetch-Site": "same-origin" };
    const answer = await fetch(release, { method: "POST", headers });
    expect([answer.status, await answer.json()]).toEqual([200, { done: 1 }]);
    const state = async () => (await app.receiver.inbox.get(id))?.state;
    await expect.poll(state).toBe("handled");
    running.child.kill("SIGINT");
    const { code, err } = await running.ended();
    expect([code, err]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^\\S+ +Delivery released. ${id}\n$`)),
    ]);
  });

  it("reporthook dashboard ends with Ctrl-C while a page is open", async () => {
    const { running, url } = await startDashboard("--db", "inbox.db");
    const live = await fetch(`${url}api/deliveries`, { headers: { accept: "text/event-stream" } });
    const reader = live.body?.getReader();
    await reader?.read();
    await end(running);
    const rest = async (): Promise<void> => {
      while (!(await reader?.read())?.done);
    };
    await rest().catch(() => {});
  });

  it("reporthook dashboard prints its URL as JSON with --json, and nothing else", async () => {
    const running = startCli(["dashboard", "--db", "inbox.db", "--port", "0", "--json"], setting);
    const { url, ...rest } = JSON.parse(await running.printed("\n"));
    expect(rest).toEqual({});
    expect(await askedAs(new URL(url).host, url)).toBe(200);
    running.child.kill("SIGINT");
    expect(await running.ended()).toMatchObject({
      code: 0,
      err: "",
      out: `${JSON.stringify({ url })}\n`,
    });
  });

  it("reporthook dashboard shows one receiver, and says that the inbox holds only those of others", async () => {
    const other = openApp("other.db", "mine");
    const theirs = await send(other.receiver);
    await other.receiver.close();
    const mine = await startDashboard("--db", "other.db", "--receiver", "mine");
    expect(await expectPage(mine.url)).toContain(theirs);
    mine.running.child.kill("SIGINT");
    expect(await mine.running.ended()).toMatchObject({ code: 0, err: "" });

    const nobodys = await startDashboard("--db", "other.db");
    expect(await expectPage(nobodys.url)).not.toContain(theirs);
    nobodys.running.child.kill("SIGINT");
    expect((await nobodys.running.ended()).err).toContain("--receiver");
  });

  it("reporthook dashboard says what to do about a file that is not there and a port that is taken", async () => {
    await cliFails(1, ["dashboard", "--db", "nothing.db"], "There is no inbox", setting);
    expect(existsSync(join(folder, "nothing.db"))).toBe(false);
    const { running, url } = await startDashboard("--db", "inbox.db");
    const { port } = new URL(url);
    await cliFails(
      1,
      ["dashboard", "--db", "inbox.db", "--port", port],
      "another with --port",
      setting,
    );
    await end(running);
  });
});

describe("the page of dev", () => {
  it("reporthook dev shows its own inbox under /dashboard, to this machine, and never the key", async () => {
    const dev = startCli(["dev", "--port", "0", "--db", "dev.db"], setting);
    const text = await dev.printed("quit\n");
    const [, url = ""] = /dashboard +(\S+)/.exec(text) ?? [];
    expect(new URL(url).pathname).toBe("/dashboard/");
    dev.type("t");
    const [, id = ""] = /handled +(\w{26})/.exec(await dev.printed(/handled +\w{26}/)) ?? [];
    const said = await expectPage(url);
    expect(said).toContain(id);
    expect(said).not.toContain(key);
    expect((await fetch(url.slice(0, -1))).url).toBe(url);
    const { host, port } = new URL(url);
    expect(await askedAs(host, url)).toBe(200);
    expect(await askedAs(`rebound.example:${port}`, `${url}api/deliveries`)).toBe(403);
    await end(dev);
  });

  it("reporthook dev shows the app's inbox in this folder when it passes everything on", async () => {
    const { receiver } = openApp("inbox.db", "forwarded");
    const id = await send(receiver);
    await receiver.close();
    const args = ["dev", "--json", "--port", "0", "--forward", "http://127.0.0.1:9/"];
    const dev = startCli(args, setting);
    const { dashboard } = JSON.parse(await dev.printed("\n"));
    expect(await expectPage(dashboard)).not.toContain(key);
    expect((await fetch(`${dashboard}api/deliveries/${id}`)).status).toBe(200);
    await end(dev);
  });
});
